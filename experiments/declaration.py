"""What an experiment is: data, kernels, methods, hyper-parameters, protocol and the paper's figures, declared.

Of a paper's conclusions (`Claim`) the table's own numbers decide whether they hold here. A `Collection` is one table
over several data sets, each of them an experiment with the same methods.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import product
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from kernelweave.combiners import Combiner
from kernelweave.estimators import MKLClassifier, MKLRegressor
from kernelweave.kernels import Kernel
from kernelweave.model_selection import Protocol, ThesisProtocol
from kernelweave.validation import Choice, check


@dataclass(frozen=True)
class Claim:
    """The conclusion of a table, the row that carries it, and why it is not reached, where that is so.

    Attributes
    ----------
    words : str
        The conclusion, in a few words.
    row : str
        The method that carries it.
    ahead_of : tuple of str
        Methods with a worse mean score than `row`, if the conclusion holds.
    no_worse_than : tuple of str
        Methods than which `row` is worse by no more than its own standard deviation.
    sparser_than, cheaper_than : tuple of str
        Methods that store more support vectors, or whose predictions cost more.
    simpler : tuple of str
        Methods that are simpler than `row`; the digest names those that are better all the same.
    own : str or None
        The library's own form of `row`.
    reason : str
        Why a figure of the paper is not reached, or the conclusion does not hold, in a few words; shown only where that
        is so.
    details : str
        The same in sentences.
    remark : str
        What to bear in mind in any case, in a few words.
    again : bool
        Whether the table measures the figures of another one once more, so that the digest's sums leave it out.

    Examples
    --------
    >>> from experiments import Claim
    >>> claim = Claim("More accurate than MKL", "LMKL (sigmoid)", ahead_of=("MKL",), simpler=("MKL",))
    >>> claim.check("5.16", ["MKL", "LMKL (softmax)"])
    Traceback (most recent call last):
    ...
    ValueError: the claim of '5.16' names methods that are not there: ['LMKL (sigmoid)']
    """

    words: str
    row: str
    _: KW_ONLY
    ahead_of: tuple[str, ...] = ()
    no_worse_than: tuple[str, ...] = ()
    sparser_than: tuple[str, ...] = ()
    cheaper_than: tuple[str, ...] = ()
    simpler: tuple[str, ...] = ()
    own: str | None = None
    reason: str = ""
    details: str = ""
    remark: str = ""
    again: bool = False

    def check(self, table: str, methods: Iterable[str]) -> None:
        """Raise ValueError where a method that the claim names is no method of the table.

        Parameters
        ----------
        table : str
            Name of the experiment.
        methods : iterable of str
            Those of the experiment.
        """
        named = {self.row, *self.ahead_of, *self.no_worse_than, *self.sparser_than, *self.cheaper_than, *self.simpler}
        unknown = (named | ({self.own} if self.own else set())) - set(methods)
        if unknown:
            raise ValueError(f"the claim of {table!r} names methods that are not there: {sorted(unknown)}")


DEFAULT = "default-"  # how the names of comparisons of defaults begin
_ESTIMATORS = {"classification": MKLClassifier, "regression": MKLRegressor}


@dataclass(frozen=True)
class Paper:
    """A paper's figures.

    Attributes
    ----------
    score, score_std, support, support_std : float or None
        Mean and standard deviation of the test score and of the support-vector percentage; None where not printed.
    cost, cost_std : float or None
        The same of the total cost in per cent.
    weights, costs : tuple of float
        Mean weight, and cost d_m, of each kernel of the method; empty where not printed.
    active : float or None
        Mean number of kernels in use for a test sample, where that is not the number of weights above 0.
    """

    score: float
    score_std: float | None = None
    _: KW_ONLY
    support: float | None = None
    support_std: float | None = None
    cost: float | None = None
    cost_std: float | None = None
    weights: tuple[float, ...] = ()
    costs: tuple[float, ...] = ()
    active: float | None = None


@dataclass(frozen=True)
class SurfaceSearch:
    """Positive parameters of a method that a response surface over the validation error finds (thesis (Gönen 2010),
    2.7).

    The response of a point is the mean validation error over the folds of a run at the best setting of the grid, so
    that C is tuned at every point; see `model_selection.ResponseSurfaceSearchCV` for the attributes.

    Attributes
    ----------
    factors : tuple of str
        Parameters of the estimator.
    delta : float
    order : {1, 2}
    bounds : (low, high)
    tol : float
    max_iter : int
    """

    factors: tuple[str, ...]
    delta: float = 0.3
    _: KW_ONLY
    order: int = 2
    bounds: tuple[float, float] = (0.1, 10.0)
    tol: float = 0.02
    max_iter: int = 20


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
    search : SurfaceSearch or None
        Further hyper-parameters, found by a response surface.
    estimator : classifier or None
        In the place of `MKLClassifier` or `MKLRegressor`: a classifier with the parameters `kernels` and `normalize`,
        or a pipeline whose first step has them. It has no combiner.
    from_features : bool
        Whether it is given the experiment's `features` in the place of kernel values: combiners that project features,
        with the kernels as they are declared, and any `estimator`, as it is.
    """

    name: str
    kernels: tuple[str, ...]
    _: KW_ONLY
    paper: Paper | None = None
    combiner: Combiner | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] | None = None
    search: SurfaceSearch | None = None
    estimator: Any = None
    from_features: bool = False


@dataclass(frozen=True)
class Experiment:
    """One table of a paper, or one data set of a table (see `Collection`).

    Attributes
    ----------
    name : str
        Number of the table, such as "5.16".
    title : str
        What it is about; as a member of a collection, what its data set is called.
    source : str
        Document and section.
    dataset, variant : str
        As in `datasets.load_dataset`; with `make`, what the data are called.
    task : {"classification", "regression"}
    kernels : mapping from name to Kernel
        Base kernels, computed once per fold and shared by all methods and hyper-parameters.
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
        What one evaluation is charged with, 1 by default; methods may learn with other costs.
    normalize_weights : bool
        Whether weights are shown divided by their sum.
    features : tuple of str
        Views that methods are given as features beside the kernels (gating models) or in their place (projections).
    max_samples : int or None
        Number of samples to draw, stratified for classification.
    layout : mapping from row to mapping from column to method
        The table as the paper prints it, where that is not one method per row.
    quick : mapping
        Fields to replace in a quick run.
    note : str
        What the paper leaves open, and how it is settled here.
    make : callable or None
        What makes the data, as a Bunch, where they are generated and not loaded.
    claim : Claim or None
        What the paper concludes from the table.
    """

    name: str
    title: str
    _: KW_ONLY
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
    normalize_weights: bool = False
    features: tuple[str, ...] = ()
    max_samples: int | None = None
    layout: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    make: Callable[[], Any] | None = None
    claim: Claim | None = None

    def __post_init__(self):
        names = [method.name for method in self.methods]
        check(f"experiment {self.name!r}", "task", self.task, Choice(*_ESTIMATORS))
        if len(set(names)) < len(names) or self.baseline not in names:
            raise ValueError(f"methods of experiment {self.name!r} must have unique names, one of them the baseline")
        for method in self.methods:
            unknown = set(method.kernels) - set(self.kernels)
            if unknown or not method.kernels:
                raise ValueError(f"method {method.name!r} names kernels that are not declared: {sorted(unknown)}")
            if method.from_features and not self.features:
                raise ValueError(f"method {method.name!r} reads features, but experiment {self.name!r} names none")
        if self.claim is not None:
            self.claim.check(self.name, names)

    @property
    def members(self) -> tuple[Experiment, ...]:
        """The experiment itself; a collection has several."""
        return (self,)

    @property
    def is_classification(self) -> bool:
        """Whether scores are accuracies in per cent (higher is better); otherwise mean squared errors."""
        return self.task == "classification"

    @property
    def score_name(self) -> str:
        """What the score is called."""
        return "accuracy %" if self.is_classification else "MSE"

    @property
    def dataset_names(self) -> list[str]:
        """The data sets, as `load_dataset` names them; none where the data are generated."""
        return [] if self.make is not None else [self.dataset]

    @property
    def data_label(self) -> str:
        """Data set and variant in words."""
        return self.dataset + ("" if self.variant is None else f" ({self.variant})")

    @property
    def n_methods(self) -> int:
        """How many methods are compared."""
        return len(self.methods)

    def quickened(self) -> Experiment:
        """The same experiment with the fields of `quick` replaced."""
        return dataclasses.replace(self, **self.quick)

    def estimator(self, method: Method, kernels: list[tuple[str, Kernel]]) -> Any:
        """The unfitted estimator of a method on given kernels: normalised ones, unless it is given features."""
        normalize = self.normalize if method.from_features else None
        if method.estimator is not None and method.from_features:
            return clone(method.estimator).set_params(**method.options)
        if method.estimator is not None:
            first = f"{method.estimator.steps[0][0]}__" if isinstance(method.estimator, Pipeline) else ""
            given = {f"{first}kernels": kernels, f"{first}normalize": None}
            return clone(method.estimator).set_params(**given, **method.options)
        # A copy of the combiner, because hyper-parameters may be set on it.
        combiner = None if method.combiner is None else clone(method.combiner)
        return _ESTIMATORS[self.task](kernels, combiner, normalize=normalize, **method.options)

    def grid_of(self, method: Method) -> Mapping[str, Sequence[Any]]:
        """The hyper-parameters of a method that run through given values."""
        return self.grid if method.grid is None else method.grid

    def at(self, method: Method, point: Mapping[str, float]) -> Method:
        """A method at one point of its search: a plain method with the point in front of its grid."""
        name = f"{method.name} at {', '.join(f'{value:.12g}' for value in point.values())}"
        grid = {parameter: [value] for parameter, value in point.items()} | dict(self.grid_of(method))
        return dataclasses.replace(method, name=name, grid=grid, search=None)

    def paths(self, method: Method) -> tuple[list[dict[str, Any]], str, list[Any]]:
        """Settings of all hyper-parameters but the last, the name of the last, and the values along its path."""
        grid = self.grid_of(method)
        *outer, last = grid
        settings = [dict(zip(outer, values, strict=True)) for values in product(*(grid[name] for name in outer))]
        return settings, last, list(grid[last])


_SHARED = ("task", "baseline", "grid", "protocol", "standardize", "normalize", "costs", "normalize_weights")


@dataclass(frozen=True)
class Collection:
    """A table with several data sets.

    Attributes
    ----------
    name, title, source, note, claim
        As of an `Experiment`.
    members : tuple of Experiment
        One per data set; they differ in data and in the paper's figures only.
    paper_counts : mapping from (method, measure) to three of str
        The paper's wins-ties-losses of a method against the baseline: by its test, by comparison of the averages, and
        the letter of Wilcoxon's test.
    """

    name: str
    title: str
    _: KW_ONLY
    source: str
    members: tuple[Experiment, ...]
    note: str = ""
    paper_counts: Mapping[tuple[str, str], tuple[str, str, str]] = field(default_factory=dict)
    claim: Claim | None = None

    def __post_init__(self):
        if not self.members:
            raise ValueError(f"collection {self.name!r} needs at least one experiment")
        if len({member.name for member in self.members}) < len(self.members):
            raise ValueError(f"experiments of collection {self.name!r} must have unique names")
        first = self.members[0]
        if self.claim is not None:
            self.claim.check(self.name, [method.name for method in first.methods])
        for member in self.members:
            unlike = [name for name in _SHARED if getattr(member, name) != getattr(first, name)]
            if [method.name for method in member.methods] != [method.name for method in first.methods]:
                unlike.append("methods")
            if unlike:
                raise ValueError(
                    f"experiments {first.name!r} and {member.name!r} of collection {self.name!r} must not differ in "
                    f"{', '.join(unlike)}"
                )

    @property
    def dataset_names(self) -> list[str]:
        """The data sets, as `load_dataset` names them."""
        return [member.dataset for member in self.members]

    @property
    def data_label(self) -> str:
        """Data sets and variants in words."""
        return ", ".join(member.data_label for member in self.members)

    @property
    def n_methods(self) -> int:
        """How many methods are compared."""
        return len(self.members[0].methods)


def over_datasets(
    template: Experiment, data: Sequence[tuple[str, str | None, str, Sequence[Paper | None]]]
) -> tuple[Experiment, ...]:
    """One experiment per data set, from a template.

    Parameters
    ----------
    template : Experiment
        All but data, name, title and the paper's figures; its name is the table's.
    data : sequence of (dataset, variant, title, papers)
        With the paper's figures of each method, in order.

    Examples
    --------
    >>> from experiments import find_experiment, over_datasets
    >>> template = find_experiment("5.10-heart")
    >>> [member.name for member in over_datasets(template, [("iris", "merged", "IRIS", (None, None))])]
    ['5.10-heart-iris-merged']
    """
    members = []
    for dataset, variant, title, papers in data:
        methods = tuple(
            dataclasses.replace(method, paper=paper) for method, paper in zip(template.methods, papers, strict=True)
        )
        name = f"{template.name}-{dataset}" + ("" if variant is None else f"-{variant}")
        members.append(
            dataclasses.replace(template, name=name, title=title, dataset=dataset, variant=variant, methods=methods)
        )
    return tuple(members)
