"""What a saved model holds of the transformers of its kernels: small operations on arrays, made of plain data.

==========================  ======================================================================
operation                   transformers of scikit-learn
==========================  ======================================================================
`ScaleOperation`            `StandardScaler`, `MinMaxScaler`, `RobustScaler`, `MaxAbsScaler`
`UnitNormOperation`         `Normalizer`
`FillOperation`             `SimpleImputer`
`NeighborsFillOperation`    `KNNImputer`
`OneHotOperation`           `OneHotEncoder`
`OrdinalOperation`          `OrdinalEncoder`
`CountTermsOperation`       `CountVectorizer`, with the built-in analysers
`WeighTermsOperation`       `TfidfTransformer`; behind `CountTermsOperation`: `TfidfVectorizer`
`RotateOperation`           `PCA`, `TruncatedSVD`
`KeepOperation`             ``"passthrough"``, `FunctionTransformer` without a function
`ChainOperation`            `Pipeline`
`ByColumnsOperation`        `ColumnTransformer`
==========================  ======================================================================

`as_operation` turns the fitted transformer into its operation. `described` and `built` write down and make again the
transformer that a kernel was given, so that a loaded model can be fitted again.
"""

from .base import Operation
from .categories import OneHotOperation, OrdinalOperation
from .composing import ByColumnsOperation, ChainOperation, KeepOperation, NamedOperation
from .converting import as_operation
from .filling import FillOperation
from .neighbors import NeighborsFillOperation
from .rotation import RotateOperation
from .scaling import ScaleOperation, UnitNormOperation
from .text import CountTermsOperation, WeighTermsOperation
from .unfitted import TRANSFORMERS, Description, built, described

OPERATIONS: tuple[type[Operation], ...] = (
    ByColumnsOperation,
    ChainOperation,
    CountTermsOperation,
    FillOperation,
    KeepOperation,
    NamedOperation,
    NeighborsFillOperation,
    OneHotOperation,
    OrdinalOperation,
    RotateOperation,
    ScaleOperation,
    UnitNormOperation,
    WeighTermsOperation,
)

__all__ = [
    "OPERATIONS",
    "TRANSFORMERS",
    "ByColumnsOperation",
    "ChainOperation",
    "CountTermsOperation",
    "Description",
    "FillOperation",
    "KeepOperation",
    "NamedOperation",
    "NeighborsFillOperation",
    "OneHotOperation",
    "Operation",
    "OrdinalOperation",
    "RotateOperation",
    "ScaleOperation",
    "UnitNormOperation",
    "WeighTermsOperation",
    "as_operation",
    "built",
    "described",
]
