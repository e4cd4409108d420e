import numpy as np
import pytest

from kernelweave.kernels import Function, Gaussian, Linear, Polynomial, named_kernels
from kernelweave.kernels.stack import default_kernels
from kernelweave.views import Views


def names(kernels):
    return [name for name, _ in named_kernels(kernels)]


def test_names_come_from_views_and_are_unique():
    assert names([Linear("fac"), Linear("fac"), Gaussian("fac"), Linear("fou")]) == [
        "fac",
        "fac-2",
        "fac-3",
        "fou",
    ]
    assert names([Linear(), Linear([0]), Polynomial(slice(3))]) == ["linear", "linear-2", "polynomial"]
    assert names([("fac", Gaussian("mor")), Linear("fac")]) == ["fac", "fac-2"]
    assert names([Linear("a") + Linear("b") * Gaussian("c"), Linear("a") + Linear("b") + 1.0]) == [
        "a+(b*c)",
        "a+b+1",
    ]
    assert names([Linear("fac__3")]) == ["fac_3"]
    assert names([Linear("x")] * 3) == ["x", "x-2", "x-3"]


def test_callables_become_kernels():
    def overlap(A, B):
        return A @ B.T

    ((name, kernel),) = named_kernels([overlap])
    assert name == "overlap"
    assert isinstance(kernel, Function)


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ([], "kernels is empty"),
        (Linear(), "wrap a single kernel"),
        (3, "must be a list"),
        ([Linear(), 3], "is no kernel, name of a view or callable.*3"),
        ([Linear], "is no kernel, name of a view or callable"),
        ([""], "is no kernel, name of a view or callable"),
        ([("a", Linear()), ("a", Linear())], r"given twice: \['a'\]"),
        ([("a__b", Linear())], "'a__b' must not contain '__'"),
        ([("a", Linear(), 1)], "pair"),
        ([(1, Linear())], "pair"),
    ],
)
def test_bad_lists_are_explained(kernels, message):
    with pytest.raises(ValueError, match=message):
        named_kernels(kernels)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["a__0", "a__1", "b__0"], {"a": [0, 1], "b": [2]}),
        (["x", "y"], {"linear": [0, 1]}),
        (["a", "a__1", "b"], {"a": [0, 1], "rest": [2]}),
        (["a__0", "x", "rest__0", "y"], {"a": [0], "rest": [2], "rest-2": [1, 3]}),
        (None, {"linear": [0, 1, 2]}),
    ],
)
def test_default_is_one_linear_kernel_per_prefix(columns, expected):
    X = np.ones((2, 3 if columns is None else len(columns)))
    views = Views(X, columns)
    found = {name: kernel.fit(views).columns().tolist() for name, kernel in default_kernels(views)}
    assert found == expected
