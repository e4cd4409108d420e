"""Figure 2 of the projection paper (SLDR): accuracy and support vectors on MULTIFEAT-SL with changing R_m and R_G."""

import dataclasses

from kernelweave.experiments.engine.claim import Claim
from kernelweave.experiments.methods.projected import sldr
from kernelweave.experiments.tables.sldr.sldr_2 import EXPERIMENT as TABLE
from kernelweave.experiments.tables.sldr.sldr_2 import C
from kernelweave.experiments.tables.thesis.thesis_5_16 import VIEWS
from kernelweave.model_selection import ThesisProtocol

_GRID = {
    components: {inputs: sldr(VIEWS, components, gating_components=inputs, init="lda") for inputs in (2, 4, 6, 8, 10)}
    for components in (1, 2, 3, 4, 5)
}
_BEST = _GRID[2][10].name

EXPERIMENT = dataclasses.replace(
    TABLE,
    name="sldr-figure-2",
    title="R_m and R_G on MULTIFEAT-SL",
    source="Gönen and Alpaydın, Supervised and localized dimensionality reduction, Figure 2",
    methods=tuple(method for row in _GRID.values() for method in row.values()),
    baseline=_BEST,
    grid={"C": C},
    layout={
        f"R_m = {components}": {f"R_G = {inputs}": method.name for inputs, method in row.items()}
        for components, row in _GRID.items()
    },
    quick={"protocol": ThesisProtocol(n_repeats=1), "max_samples": 120},
    note="The figure has no printed numbers; of the best pair, R_m = 2 and R_G = 10, Table 2 has them. Scaling as "
    "there; projections begin at directions between classes, and l2 is 0.001.",
    claim=Claim(
        "No other R_m and R_G is better",
        _BEST,
        no_worse_than=tuple(method.name for row in _GRID.values() for method in row.values() if method.name != _BEST),
        reason="not claimed so by the paper",
        details="The paper says only that all pairs are accurate with few support vectors; its best pair is the row.",
    ),
)
