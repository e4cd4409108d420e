"""`report`: a report on a fitted model: its sections, and the headline, which says what they found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ..recipes.tasks import SURVIVAL
from ..validation import Seed, Whole, check, shown
from .citations import cite_section
from .content import Contents, Provenance, Section
from .data import data_section
from .page import Report
from .provenance import made_in_python, record_of, versions
from .samples import OutOfFoldValues, contributions_section, gates_section, projections_section
from .scores import Evaluation, evaluated, findings, views_section
from .solution import (
    certificates_section,
    features_section,
    is_certified,
    is_solved,
    ran_out_of_steps,
    relative_gap,
    weights_section,
)
from .subject import Subject, method_in_words
from .words import combiner_in_words, counted, listed, written


def report(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    cv: Any = None,
    scoring: Any = None,
    groups: Any = None,
    comparison: Any = None,
    data: Any = None,
    title: str | None = None,
    max_points: int = 2000,
    n_shown: int = 20,
    n_jobs: int | None = None,
    random_state: Any = 0,
    verbose: int = 0,
) -> Report:
    """Everything that a fitted model can tell about its samples and views, as one page.

    In a notebook the page is shown where it is the last line of a cell, and ``report(...).save("report.html")`` writes
    it as one file that needs no network. It contains what each view gives (by cross-validation, with the view alone and
    without it), kernel weights overall and by class, gates and projections where the model has them, what decided the
    samples that the model is least sure of, certificates of the fit, an overview of the data, and what to cite.

    Parameters
    ----------
    model : fitted estimator
        `MKLClassifier`, `MKLRegressor`, `MKLSurvival`, `MKLOneClass` or `recipes.CohortModel`; or a pipeline that ends
        in one, or a search or another estimator that contains one (`CalibratedClassifierCV` with ``ensemble=False``).
        Also a model that was loaded from a file.
    X : array, DataFrame or sparse matrix of shape (n_samples, n_features)
        The samples of the fit, or others. The labels of a data frame name them.
    y : array of shape (n_samples,) or (n_samples, n_targets), optional
        Their classes or targets. Without them there are no scores, and no largest errors of a regression.
    cv : int, splitter, iterable, False or None
        Folds in which models with and without each view are fitted and scored, as in `model_selection.view_report`;
        None means five shuffled folds (fewer where a class has fewer samples), False or 0 none. With P views it fits
        2 P + 1 models for each fold, so that this takes most of the time.
    scoring : str, callable or None
        One metric, as in scikit-learn; None means the `score` of the model. Higher is better.
    groups : array of shape (n_samples,), optional
        Samples of one group count as one in the test of what each view gives; for splitters that need groups too.
    comparison : tuple of (list of str, Section), optional
        A headline and a section on several methods, which come first; how well this model predicts is then theirs to
        say.
    data : list, optional
        What begins the section on data: blocks, sentences, or rows such as ``("target", "guessed as classes")``.
    title : str, optional
        Of the page.
    max_points : int
        Most samples that one picture draws. Others are left out at random, in proportion to classes and regions, and
        the page says so.
    n_shown : int
        Number of samples whose decision is taken apart; 0 for none.
    n_jobs : int or None
        Folds at a time.
    random_state : int, RandomState or None
        For the folds and for the samples that are drawn.
    verbose : int
        Whether to show the progress of cross-validation.

    Returns
    -------
    Report
        With `save(path)`, `to_markdown()` and `contents`, the plain data of which the page is drawn.

    Raises
    ------
    ValueError
        If the model is not fitted or holds no such model, or if X and y do not fit it.

    Notes
    -----
    All numbers are the model's own: `kernel_weights_`, `kernel_weights(X)`, `contributions(X)`, `project(X)`,
    `duality_gap_`, and those of `model_selection.view_report`. Sections that do not apply to a model are left out.

    See Also
    --------
    model_selection.view_report : the cross-validation behind the section on views.

    Examples
    --------
    >>> import kernelweave
    >>> from kernelweave import MKLClassifier, datasets
    >>> from kernelweave.kernels import Gaussian, Linear
    >>> X, y = datasets.load_multifeat(target="even-vs-odd", return_X_y=True)
    >>> model = MKLClassifier([Linear("fou"), Gaussian("kar")]).fit(X[::10], y[::10])
    >>> found = kernelweave.report(model, X[::10], y[::10], cv=3)
    >>> [section.id for section in found.contents.sections]
    ['views', 'weights', 'contributions', 'certificates', 'data', 'cite']
    >>> found.contents.headline[0]
    'On samples that it has not seen, the model predicts the right class for ... %
    (cross-validation of 200 samples; ... % to ... % in the 3 folds).'
    """
    check("report", "max_points", max_points, Whole(1))
    check("report", "n_shown", n_shown, Whole(0))
    check("report", "random_state", random_state, Seed())
    given_headline, given_sections = _checked_comparison(comparison)
    subject = Subject(model, X, y)
    options = {"n_jobs": n_jobs, "random_state": random_state, "verbose": verbose}
    evaluation = evaluated(subject, cv, scoring, groups, **options)
    drawing = {"max_points": max_points, "n_shown": n_shown, "random_state": random_state}
    return assembled(subject, evaluation, given_headline, given_sections, data=data, title=title, **drawing)


def assembled(
    subject: Subject,
    evaluation: Evaluation,
    given_headline: list[str],
    given_sections: list[Section],
    *,
    data: Any = None,
    title: str | None = None,
    max_points: int = 2000,
    n_shown: int = 20,
    random_state: Any = 0,
    out_of_fold: OutOfFoldValues | None = None,
    provenance: Provenance | None = None,
) -> Report:
    """The report of which the first sentences and sections are given, if there are any, such as those on methods.

    Without `provenance` it was made from Python, of the samples and targets of the subject.
    """
    drawing = {"max_points": max_points, "random_state": random_state}
    found = [
        *given_sections,
        views_section(subject, evaluation),
        weights_section(subject),
        gates_section(subject, **drawing),
        projections_section(subject, **drawing),
        features_section(subject),
        contributions_section(subject, n_shown=n_shown, out_of_fold=out_of_fold),
        certificates_section(subject),
        data_section(subject, data),
        cite_section(subject),
    ]
    contents = Contents(
        title=_title(subject) if title is None else title,
        headline=[*given_headline, *headline(subject, evaluation, compared=bool(given_sections))],
        sections=[section for section in found if section is not None],
        data=_machine_readable(subject, evaluation),
        versions=versions(),
        provenance=provenance or made_in_python(subject.X, subject.y, random_state, record_of(subject.inside)),
    )
    return Report(contents)


def _title(subject: Subject) -> str:
    if subject.cohort is not None:
        return f"Report on a model: {method_in_words(subject.cohort)}"
    article = "an" if type(subject.model).__name__[0] in "AEIOM" else "a"
    return f"Report on {article} {type(subject.model).__name__}"


def _checked_comparison(comparison: Any) -> tuple[list[str], list[Section]]:
    if comparison is None:
        return [], []
    try:
        sentences, section = comparison
        sentences = [str(sentence) for sentence in sentences]
    except (TypeError, ValueError):
        sentences, section = [], None
    if not isinstance(section, Section):
        raise ValueError(f"comparison must be a list of sentences and a Section, not {shown(comparison)}")
    return sentences, [section]


def _machine_readable(subject: Subject, evaluation: Evaluation) -> dict[str, Any]:
    found: dict[str, Any] = {"task": subject.task, "n_samples": subject.n_samples, "score": evaluation.score.name}
    if evaluation.views is not None:
        found["views"] = evaluation.views.reset_index().to_dict("records")
        found["folds"] = evaluation.folds.to_dict("records") if isinstance(evaluation.folds, pd.DataFrame) else []
    if subject.view_weights is not None:
        found["weights"] = {str(view): float(weight) for view, weight in subject.view_weights.items()}
    return found


_FEW_SAMPLES = 50
_FEW_OF_A_CLASS = 10


def headline(subject: Subject, evaluation: Evaluation, *, compared: bool = False) -> list[str]:
    found = [] if compared else performance(subject, evaluation)
    view = which_view(subject, evaluation)
    return [*found, what_it_is(subject), *([view] if view else []), *doubts(subject, evaluation, compared=compared)]


def what_it_is(subject: Subject) -> str:
    names = list(subject.views) if subject.cohort is None else subject.cohort.views
    views = f"{counted(len(names), 'view')} of the samples ({listed(names, 8)})"
    if subject.task == "classification":
        text = f"The model tells apart {counted(len(subject.estimator.classes_), 'class')} by {views}"
    elif subject.task == SURVIVAL:
        text = f"The model predicts the risk of an event from {views}"
    elif subject.task == "regression":
        what = counted(len(subject.targets), "number") if subject.targets else "a number"
        text = f"The model predicts {what} from {views}"
    else:
        text = f"The model detects unusual samples by {views}"
    if subject.model is None:
        return f"{text}. The method: {method_in_words(subject.cohort)}."
    return f"{text}, combined by {combiner_in_words(subject.model.combiner_)}."


def performance(subject: Subject, evaluation: Evaluation) -> list[str]:
    """How well the model predicts: by cross-validation, or on the samples given, and then inside its fit."""
    score, together = evaluation.score, evaluation.together
    if together is not None:
        folds = evaluation.fold_scores[np.isfinite(evaluation.fold_scores)]
        low, high = (written(float(value), score.kind) for value in (folds.min(), folds.max()))
        spread = f"{low} in each of the" if low == high else f"{low} to {high} in the"
        return [
            f"On samples that it has not seen, {_reaches(score.name, float(together['score']), score.kind)} "
            f"(cross-validation of {counted(subject.n_samples, 'sample')}; {spread} "
            f"{counted(evaluation.n_folds, 'fold')})."
        ]
    n_samples = counted(subject.n_samples, "sample")
    if subject.task == "novelty":
        share = float(np.mean(np.asarray(subject.predicted) < 0))
        return [f"{written(share, 'percent')} of the {n_samples} given here count as unusual."]
    inner = [sentence] if (sentence := _inner_score(subject)) else []
    if np.isfinite(evaluation.here):
        reached = _reaches(score.name, evaluation.here, score.kind)
        return [f"On the {n_samples} given here, {reached}{_largest_class(subject)}.", *inner]
    return inner or [f"How well the model predicts was not measured: the {n_samples} came without targets."]


def _inner_score(subject: Subject) -> str:
    """The score by which a `CohortModel` chose its setting; empty for other models."""
    value = float(getattr(subject.cohort, "validation_score_", np.nan))
    if not np.isfinite(value):
        return ""
    scoring = subject.scoring
    kind = "percent" if scoring.is_share else "number"
    reached = _reaches(scoring.label, -value if scoring.is_error else value, kind)
    return (
        f"In cross-validation inside its fit {reached}, which is a bit too good: its setting was chosen by that score."
    )


def _largest_class(subject: Subject) -> str:
    """What always predicting the most frequent class of the samples given reaches."""
    if subject.task != "classification" or subject.y is None:
        return ""
    labels, counts = np.unique(subject.y, return_counts=True)
    share = written(float(counts.max() / counts.sum()), "percent")
    return f"; the largest class, {labels[counts.argmax()]}, has {share} of them"


def _reaches(name: str, value: float, kind: str) -> str:
    if name == "accuracy":
        return f"the model predicts the right class for {written(value, kind)}"
    if name == "R²" and value > 0.0:
        return (
            f"the model explains {written(value, 'percent')} of the variation of the target, an R² of {written(value)}"
        )
    if name == "R²":
        return f"the model predicts no better than the mean of the target does, with an R² of {written(value)}"
    if name == "C index":
        return (
            f"the model orders {written(value, 'percent')} of the pairs of samples right, of which one is known to "
            f"have the event first, a C index of {written(value)}"
        )
    return f"the model reaches a score ({name}) of {written(value, kind)}"


def which_view(subject: Subject, evaluation: Evaluation) -> str:
    """Which view matters most: by what is lost without it or, without cross-validation, by its weight."""
    if evaluation.scores is not None:
        return next(iter(findings(evaluation.scores)), "")
    if len(subject.views) < 2 or subject.view_weights is None:
        return ""
    weights = subject.view_weights
    if np.ptp(weights.to_numpy()) <= 1e-9 * np.abs(weights).max():
        return "All views have the same weight."
    return f"The view with the largest weight is {weights.idxmax()} ({written(float(weights.max()))})."


def doubts(subject: Subject, evaluation: Evaluation, *, compared: bool = False) -> list[str]:
    found = []
    if not compared and evaluation.scores is None and np.isfinite(evaluation.here):
        found.append(
            "If the model was fitted to these samples, that says little about new ones: it has seen the answers."
        )
        if len(subject.views) == 1 and subject.cohort is None:  # of several, the section on views says why
            found.append(evaluation.why_not)
    if subject.y is not None and subject.task == "classification":
        labels, counts = np.unique(subject.y, return_counts=True)
        if counts.min() < _FEW_OF_A_CLASS:
            found.append(
                f"The class {labels[counts.argmin()]} has only {counted(int(counts.min()), 'sample')}, so that what is "
                "said about it is uncertain."
            )
        found += [] if compared else _chance(evaluation, float(counts.max() / counts.sum()))
    if subject.y is not None and subject.task == SURVIVAL and subject.y["event"].sum() < _FEW_SAMPLES:
        n_events = int(subject.y["event"].sum())
        found.append(f"With {counted(n_events, 'event')} all that is said of risks is uncertain.")
    if subject.n_samples < _FEW_SAMPLES and evaluation.scores is not None:
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
