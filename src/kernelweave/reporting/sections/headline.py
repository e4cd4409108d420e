"""The headline of a report on a model: how well it predicts, from what, which view matters, and what can be doubted."""

from __future__ import annotations

import numpy as np

from .certificates import is_certified, is_solved, ran_out_of_steps, relative_gap
from .naming import combiner_in_words
from .scores import Evaluation
from .subject import Subject, method_in_words
from .views import findings
from .wording import counted, listed, written

_FEW_SAMPLES = 50
_FEW_OF_A_CLASS = 10


def headline(subject: Subject, evaluation: Evaluation, *, compared: bool = False) -> list[str]:
    """Sentences in plain words, the most important first; without a score where a comparison has one already."""
    found = [] if compared else [performance(subject, evaluation)]
    view = which_view(subject, evaluation)
    return [*found, what_it_is(subject), *([view] if view else []), *doubts(subject, evaluation, compared=compared)]


def what_it_is(subject: Subject) -> str:
    """What kind of model this is, and what it reads."""
    n_views = counted(len(subject.views), "view")
    views = f"{n_views} of the samples ({listed(subject.views, 8)})"
    if subject.task == "classification":
        text = f"The model tells apart {counted(len(subject.estimator.classes_), 'class')} by {views}"
    elif subject.task == "regression":
        what = counted(len(subject.targets), "number") if subject.targets else "a number"
        text = f"The model predicts {what} from {views}"
    else:
        text = f"The model detects unusual samples by {views}"
    if subject.model is None:
        return f"{text}. The method: {method_in_words(subject.cohort)}."
    return f"{text}, combined by {combiner_in_words(subject.model.combiner_)}."


def performance(subject: Subject, evaluation: Evaluation) -> str:
    """How well the model predicts."""
    score, together = evaluation.score, evaluation.together
    if together is not None:
        folds = evaluation.fold_scores[np.isfinite(evaluation.fold_scores)]
        low, high = (written(float(value), score.kind) for value in (folds.min(), folds.max()))
        spread = f"{low} in each of the" if low == high else f"{low} to {high} in the"
        return (
            f"On samples that it has not seen, {_reaches(score.name, float(together['score']), score.kind)} "
            f"(cross-validation of {counted(subject.n_samples, 'sample')}; {spread} "
            f"{counted(evaluation.n_folds, 'fold')})."
        )
    if np.isfinite(getattr(subject.cohort, "validation_score_", np.nan)):
        name, kind = ("accuracy", "percent") if subject.task == "classification" else ("R²", "number")
        value = float(getattr(subject.cohort, "validation_score_", np.nan))
        return (
            f"On samples that it has not seen, {_reaches(name, value, kind)} (cross-validation inside the fit; a bit "
            "too good, because the setting was chosen by it)."
        )
    if subject.task == "novelty":
        share = float(np.mean(np.asarray(subject.predicted) < 0))
        return f"{written(share, 'percent')} of the {counted(subject.n_samples, 'sample')} given here count as unusual."
    n_samples = counted(subject.n_samples, "sample")
    if np.isfinite(evaluation.here):
        return f"On the {n_samples} given here, {_reaches(score.name, evaluation.here, score.kind)}."
    return f"How well the model predicts was not measured: the {n_samples} came without targets."


def _reaches(name: str, value: float, kind: str) -> str:
    """The score in a sentence."""
    if name == "accuracy":
        return f"the model predicts the right class for {written(value, kind)}"
    if name == "R²" and value > 0.0:
        return (
            f"the model explains {written(value, 'percent')} of the variation of the target, an R² of {written(value)}"
        )
    if name == "R²":
        return f"the model predicts no better than the mean of the target does, with an R² of {written(value)}"
    return f"the model reaches a score ({name}) of {written(value, kind)}"


def which_view(subject: Subject, evaluation: Evaluation) -> str:
    """Which view matters most: by what is lost without it or, without cross-validation, by its weight."""
    if len(subject.views) < 2:
        return ""
    if evaluation.views is not None:
        return findings(subject, evaluation)[0] if findings(subject, evaluation) else ""
    if subject.view_weights is None:
        return ""
    weights = subject.view_weights
    if np.ptp(weights.to_numpy()) <= 1e-9 * np.abs(weights).max():
        return "All views have the same weight."
    return f"The view with the largest weight is {weights.idxmax()} ({written(float(weights.max()))})."


def doubts(subject: Subject, evaluation: Evaluation, *, compared: bool = False) -> list[str]:
    """What can be doubted."""
    found = []
    if not compared and evaluation.views is None and subject.cohort is None and np.isfinite(evaluation.here):
        found.append(
            "If the model was fitted to these samples, that says little about new ones: it has seen the answers. "
            f"{evaluation.why_not}"
        )
    if subject.y is not None and subject.task == "classification":
        labels, counts = np.unique(subject.y, return_counts=True)
        if counts.min() < _FEW_OF_A_CLASS:
            found.append(
                f"The class {labels[counts.argmin()]} has only {counted(int(counts.min()), 'sample')}, so that what is "
                "said about it is uncertain."
            )
        found += [] if compared else _chance(evaluation, float(counts.max() / counts.sum()))
    if subject.n_samples < _FEW_SAMPLES and evaluation.views is not None:
        found.append(f"With {counted(subject.n_samples, 'sample')} all scores are uncertain: look at their spread.")
    model = subject.model
    if model is not None:
        if not is_certified(model):
            found.append(
                "A kernel is not positive semidefinite, so that nothing certifies the fit; see the certificates."
            )
        elif not is_solved(model):
            gap = written(relative_gap(model))
            found.append(f"The fit did not reach its optimum (relative gap {gap}); see the certificates.")
        elif ran_out_of_steps(model):
            found.append("Learning of the combination stopped at max_iter; see the certificates.")
        if subject.has_even_gates:
            found.append("The gates came out the same for all samples, so this model is not localized.")
    return found


def _chance(evaluation: Evaluation, majority: float) -> list[str]:
    """A warning where predicting the most frequent class always would be as good."""
    together = evaluation.together
    if together is None or evaluation.score.name != "accuracy" or together["score"] - together["std"] > majority:
        return []
    return [
        "That is hardly better than always predicting the most frequent class, which is right for "
        f"{written(majority, 'percent')} of the samples."
    ]
