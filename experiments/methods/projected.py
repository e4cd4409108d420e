"""The methods of the experiments with projections: SLDR, and global and local projection kernels with their rivals.

================  ====================================================================
paper             here
================  ====================================================================
SLDR              `sldr`: a projection of each representation, and of the gating inputs
LPK, GPK (P = 1)  `projection_experiment`, thesis 5.4.3
R_m, R_G, P       n_components, gating_components, n_regions
================  ====================================================================
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ...combiners import Projected, Softmax
from ...kernels import Linear
from ...reduction import reduced_svm
from ..engine.declaration import Experiment, Method, Paper
from .localized import CLOSED

_SEEDED = {"random_state": 0}
_REGIONS = (1, 2, 3)
_C = [0.01, 0.1, 1.0, 10.0, 100.0]
_GATED = {"combiner__l2": [0.01, 0.1], "C": _C}
_NOTE = (
    "The thesis draws curves; the paper's column has the numbers that its text states, for the dimensions it states "
    'them for (some as "about" or "more than"). Features are standardised and kernels not normalised, because the '
    "reductions come before the kernel. C may also be 0.01 or 0.1, which unnormalised kernels need. GPK is LPK with "
    "one region. Projections are orthonormal and begin near directions between classes; the penalty l2 of the gates is "
    "chosen by validation, as C is. LFDA gets the first 100 principal components."
)


def sldr(
    views: Sequence[str],
    n_components: int,
    *,
    gating_components: int,
    paper: Paper | None = None,
    grid: Mapping[str, Sequence[Any]] | None = None,
    **options: Any,
) -> Method:
    """Supervised and localized dimensionality reduction of some representations, as a row of a table.

    Parameters
    ----------
    views : sequence of str
        Names of the kernels.
    n_components, gating_components : int
        R_m and R_G.
    paper : Paper, optional
    grid : mapping, optional
        Hyper-parameters in place of the experiment's.
    options : further parameters of `Projected`

    Examples
    --------
    >>> from kernelweave.experiments.methods.projected import sldr
    >>> sldr(("fac", "fou"), 2, gating_components=10).name
    'SLDR (R_m = 2, R_G = 10)'
    """
    return Method(
        f"SLDR (R_m = {n_components}, R_G = {gating_components})",
        tuple(views),
        paper=paper,
        combiner=Projected(
            n_components,
            Softmax("paper"),
            gating_components=gating_components,
            **{"l2": 1e-3, "gate_tol": CLOSED, **options},
        ),
        options=_SEEDED,
        grid=grid,
        from_features=options.get("features", "auto") == "auto",
    )


def projection_experiment(
    view: str,
    dimensions: Sequence[int],
    *,
    more_dimensions: Sequence[int],
    papers: Mapping[str, Paper],
    unit_gates: Sequence[tuple[int, int]] = (),
    note: str = "",
    **fields: Any,
) -> Experiment:
    """One of Figures 5.19 to 5.22: linear SVMs on all features, after a reduction, and with learned projections.

    Parameters
    ----------
    view : str
        The features.
    dimensions : sequence of int
        Of all methods that reduce.
    more_dimensions : sequence of int
        Further ones, of PCA only.
    papers : mapping from method to Paper
        What the text of the thesis states.
    unit_gates : sequence of (regions, dimension)
        Rows with the library's own gates, which choose their penalty by themselves.
    note : str
        Words after the common note.
    fields : further fields of `Experiment`

    Examples
    --------
    >>> from kernelweave.experiments import Paper
    >>> from kernelweave.experiments.methods.projected import projection_experiment
    >>> iris = {"name": "iris", "title": "IRIS", "source": "here", "dataset": "iris", "variant": "merged"}
    >>> made = projection_experiment("x", (1,), more_dimensions=(2,), papers={"SVM": Paper(66.7)}, **iris)
    >>> [method.name for method in made.methods]
    ['SVM', 'PCA (R = 1)', 'LFDA (R = 1)', 'GPK (R = 1)', 'LPK (P = 2, R = 1)', 'LPK (P = 3, R = 1)', 'PCA (R = 2)']
    """
    regions = {f"region-{number}": Linear(view) for number in range(1, max(_REGIONS) + 1)}
    methods = {"SVM": Method("SVM", ("all",))}
    layout: dict[str, dict[str, str]] = {"all": {"SVM": "SVM"}}
    for count in [*dimensions, *more_dimensions]:
        row = {"PCA": _reduced("pca", count)}
        if count in dimensions:
            row["LFDA"] = _reduced("lfda", count)
            row |= {_title(number): _projected(tuple(regions)[:number], count) for number in _REGIONS}
        layout[f"R = {count}"] = {column: method.name for column, method in row.items()}
        methods |= {method.name: method for method in row.values()}
    for number, count in unit_gates:
        name = f"unit gates (P = {number}, R = {count})"
        own = Projected(count, Softmax())
        methods[name] = Method(name, tuple(regions)[:number], combiner=own, options=_SEEDED, from_features=True)
    unknown = set(papers) - set(methods)
    if unknown:
        raise ValueError(f"papers names methods that are not there: {sorted(unknown)}; there are {list(methods)}")
    return Experiment(
        task="classification",
        kernels={"all": Linear(view), **regions},
        methods=tuple(dataclasses.replace(method, paper=papers.get(name)) for name, method in methods.items()),
        baseline="SVM",
        grid={"C": _C},
        normalize=None,
        features=(view,),
        layout=layout,
        note=f"{_NOTE} {note}".strip(),
        **fields,
    )


def _reduced(reducer: str, n_components: int) -> Method:
    """A linear SVM on fewer features, found without it."""
    return Method(
        f"{reducer.upper()} (R = {n_components})",
        ("all",),
        grid={"svm__C": _C},
        estimator=reduced_svm(reducer, n_components, random_state=0),
        from_features=True,
    )


def _projected(regions: tuple[str, ...], n_components: int) -> Method:
    """GPK or LPK."""
    title, local = _title(len(regions)), len(regions) > 1
    return Method(
        f"{title.removesuffix(')')}, R = {n_components})" if local else f"{title} (R = {n_components})",
        regions,
        paper=None,
        combiner=Projected(n_components, Softmax("paper") if local else None, gate_tol=CLOSED),
        options=_SEEDED,
        grid=_GATED if local else {"C": _C},
        from_features=True,
    )


def _title(n_regions: int) -> str:
    return "GPK" if n_regions == 1 else f"LPK (P = {n_regions})"
