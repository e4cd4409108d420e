"""`MKLClassifier(multiclass=...)` and the least-squares machine with linear kernels, which few dimensions underfit."""

from kernelweave.experiments.defaults.multiclass import DEFAULT, over
from kernelweave.experiments.methods.default_settings import DENSE_VIEWS, SEVERAL_CLASSES, default_comparison
from kernelweave.kernels import Linear

EXPERIMENT = default_comparison(
    name="multiclass-linear",
    title="More than two classes, linear kernels",
    datasets=(*DENSE_VIEWS, *SEVERAL_CLASSES),
    contenders=over(Linear),
    default=DEFAULT,
    note="The mean of one linear kernel on each view, dense views only; sparse ones are in the table before. Where few "
    "columns and a linear kernel cannot separate a class from all others, one machine per pair of classes pays.",
)
