"""`report`: a report on a fitted model, from the sections in `sections/`."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import pandas as pd

from .._version import __version__
from ..validation import Seed, Whole, check, shown
from .content import Contents, Section
from .page import Report
from .sections.certificates import certificates_section
from .sections.cite import cite_section
from .sections.contributions import contributions_section
from .sections.data import data_section
from .sections.gates import gates_section
from .sections.headline import headline
from .sections.projections import projections_section
from .sections.scores import Evaluation, evaluated
from .sections.subject import Subject, method_in_words
from .sections.views import views_section
from .sections.weights import weights_section


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
        `MKLClassifier`, `MKLRegressor`, `MKLOneClass` or `recipes.CohortModel`; or a pipeline that ends in one, or a
        search or another estimator that contains one (`CalibratedClassifierCV` with ``ensemble=False``). Also a model
        that was loaded from a file.
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
    drawing = {"max_points": max_points, "random_state": random_state}
    found = [
        *given_sections,
        views_section(subject, evaluation),
        weights_section(subject),
        gates_section(subject, **drawing),
        projections_section(subject, **drawing),
        contributions_section(subject, n_shown=n_shown),
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
    )
    return Report(contents)


def _title(subject: Subject) -> str:
    if subject.cohort is not None:
        return f"Report on a model: {method_in_words(subject.cohort)}"
    article = "an" if type(subject.model).__name__[0] in "AEIOM" else "a"
    return f"Report on {article} {type(subject.model).__name__}"


def versions() -> dict[str, str]:
    """The versions of Python, Kernelweave and the packages whose numbers a report holds."""
    packages = ("numpy", "scipy", "scikit-learn", "pandas", "numba")
    return {
        "kernelweave": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


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
    """Results for programs."""
    found: dict[str, Any] = {"task": subject.task, "n_samples": subject.n_samples, "score": evaluation.score.name}
    if evaluation.views is not None:
        found["views"] = evaluation.views.reset_index().to_dict("records")
        found["folds"] = evaluation.folds.to_dict("records") if isinstance(evaluation.folds, pd.DataFrame) else []
    if subject.view_weights is not None:
        found["weights"] = {str(view): float(weight) for view, weight in subject.view_weights.items()}
    return found
