"""What an experiment is: data, kernels, methods, hyper-parameters, protocol and the paper's figures, declared."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from ..combiners import Combiner
from ..estimators import MKLClassifier, MKLRegressor
from ..kernels import Kernel
from ..model_selection import Protocol, ThesisProtocol

_ESTIMATORS = {"classification": MKLClassifier, "regression": MKLRegressor}


@dataclass(frozen=True)
class Paper:
    """A paper's mean and standard deviation of the test score and of the support-vector percentage."""

    score: float
    score_std: float
    support: float
    support_std: float


@dataclass(frozen=True)
class Method:
    """One row of a table.

    Attributes
    ----------
    name : str
    kernels : tuple of str
        Which of the experiment's kernels it combines.
    paper : Paper or None
        The paper's figures, where it has the row.
    combiner : Combiner or None
        How the kernels become one; None for their mean (a single kernel is itself).
    options : mapping
        Further parameters of the estimator.
    grid : mapping or None
        Hyper-parameters in place of the experiment's.
    """

    name: str
    kernels: tuple[str, ...]
    paper: Paper | None = None
    combiner: Combiner | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] | None = None


@dataclass(frozen=True)
class Experiment:
    """One table of a paper.

    Attributes
    ----------
    name : str
        Number of the table, such as "5.16".
    title : str
    source : str
        Document and section.
    dataset, variant : str
        As in `datasets.load_dataset`.
    task : {"classification", "regression"}
    kernels : mapping from name to Kernel
        Base kernels, computed once a fold and shared by all methods and hyper-parameters.
    methods : tuple of Method
    baseline : str
        The method that the others are tested against.
    grid : mapping from parameter to values
        All combinations are tried; the last parameter runs as a restarted path.
    protocol : Protocol
    standardize : bool
        Whether features get zero mean and unit variance on the training part of a fold.
    normalize : str or None
        Normalisation of the base kernels, with constants from the training part of a fold.
    costs : mapping from kernel to number
        Cost of one evaluation, 1 by default.
    features : tuple of str
        Views that methods see as features beside the kernels (gating models).
    max_samples : int or None
        Draw so many samples, stratified for classification.
    quick : mapping
        Fields to replace in a quick run.
    note : str
        What the paper leaves open, and how it is settled here.
    """

    name: str
    title: str
    source: str
    dataset: str
    task: str
    kernels: Mapping[str, Kernel]
    methods: tuple[Method, ...]
    baseline: str
    grid: Mapping[str, Sequence[Any]]
    variant: str | None = None
    protocol: Protocol = field(default_factory=ThesisProtocol)
    standardize: bool = True
    normalize: str | None = "unit-diagonal"
    costs: Mapping[str, float] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    max_samples: int | None = None
    quick: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""

    def __post_init__(self):
        names = [method.name for method in self.methods]
        if self.task not in _ESTIMATORS:
            raise ValueError(f"task of experiment {self.name!r} must be one of {list(_ESTIMATORS)}, not {self.task!r}")
        if len(set(names)) < len(names) or self.baseline not in names:
            raise ValueError(f"methods of experiment {self.name!r} must have unique names, one of them the baseline")
        for method in self.methods:
            unknown = set(method.kernels) - set(self.kernels)
            if unknown or not method.kernels:
                raise ValueError(f"method {method.name!r} names kernels that are not declared: {sorted(unknown)}")

    @property
    def is_classification(self) -> bool:
        """Whether scores are accuracies in per cent (higher is better); otherwise mean squared errors."""
        return self.task == "classification"

    @property
    def score_name(self) -> str:
        """What the score is called."""
        return "accuracy %" if self.is_classification else "MSE"

    def quickened(self) -> Experiment:
        """The same experiment with the fields of `quick` replaced."""
        return dataclasses.replace(self, **self.quick)

    def estimator(self, method: Method, kernels: list[tuple[str, Kernel]]) -> Any:
        """The unfitted estimator of a method on given (already normalised) kernels."""
        return _ESTIMATORS[self.task](kernels, method.combiner, normalize=None, **method.options)

    def paths(self, method: Method) -> tuple[list[dict[str, Any]], str, list[Any]]:
        """Settings of all hyper-parameters but the last, the name of the last, and the values along its path."""
        grid = self.grid if method.grid is None else method.grid
        *outer, last = grid
        settings = [dict(zip(outer, values, strict=True)) for values in product(*(grid[name] for name in outer))]
        return settings, last, list(grid[last])
