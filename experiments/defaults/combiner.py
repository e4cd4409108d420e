"""`MKLClassifier(combiner=...)`, and what people would take in place of several kernels, on sets of several views."""

from typing import Any

import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from kernelweave.combiners import (
    AlignmentWeights,
    BestSingle,
    Combiner,
    ConvexMKL,
    EasyMKL,
    KernelMap,
    Localized,
    LpMKL,
    Mean,
    PolynomialMKL,
)
from kernelweave.experiments.engine.comparison import Candidates, Problem
from kernelweave.experiments.methods.default_settings import (
    DENSE_VIEWS,
    SPARSE_VIEWS,
    default_comparison,
    machine,
    over_costs,
    over_views,
)
from kernelweave.kernels import Gaussian, Linear

_COMBINERS = (Mean, ConvexMKL, LpMKL, EasyMKL, AlignmentWeights, PolynomialMKL, Localized, BestSingle)


def _combined(combiner: type[Combiner]) -> Candidates:
    def make(data: Problem, C: float) -> Any:
        kernels = over_views(data, Linear) if sp.issparse(data.X) else over_views(data, Linear, Gaussian)
        return machine(data, kernels, combiner=_made(combiner, data), C=C)

    return over_costs(make)


def _made(combiner: type[Combiner], data: Problem) -> Combiner:
    """The combiner as it comes; gates read similarities to training samples where columns are sparse."""
    if combiner is Localized and sp.issparse(data.X):
        return Localized(inputs=KernelMap(Linear()))
    return combiner()


def _boosted(data: Problem) -> dict[str, Any]:
    trees = HistGradientBoostingClassifier(random_state=0)
    wide = data.X.shape[1] > 100
    return {"": make_pipeline(TruncatedSVD(50, random_state=0), trees) if wide else trees}


EXPERIMENT = default_comparison(
    name="combiner",
    title="How the kernels become one",
    datasets=tuple(name for name in (*DENSE_VIEWS, *SPARSE_VIEWS) if name != "pie10"),  # 68 classes take too long
    contenders={
        **{f"{combiner.__name__}()": _combined(combiner) for combiner in _COMBINERS},
        "SVC() on all columns": over_costs(lambda data, C: SVC(C=C)),
        "logistic regression": over_costs(lambda data, C: LogisticRegression(C=C, max_iter=1000)),
        "random forest": lambda data: {"": RandomForestClassifier(random_state=0)},
        "gradient boosting": _boosted,
    },
    default="Mean()",
    note="A linear and a Gaussian kernel on each dense view, a linear one on each sparse view; rivals see all columns "
    "side by side. Gradient boosting takes the 50 leading singular directions where there are more than 100 columns. "
    "`Mean()` learns nothing of the kernels and takes one solve; `LpMKL()` is the first to try beyond it.",
)
