"""What an operation must share with the transformer that it was made from."""

import numpy as np
import scipy.sparse as sp

from kernelweave.saving.operations import NamedOperation
from kernelweave.saving.transformers import as_operation


def width_of(X):
    return X.shape[1] if getattr(X, "ndim", 1) == 2 else 1


def assert_like(found, expected):
    """Equal values to 1e-12 (of single precision to 1e-5), in the same kind of container and of the same type."""
    expected = expected.to_numpy() if hasattr(expected, "iloc") else expected
    assert sp.issparse(found) == sp.issparse(expected)
    assert found.shape == expected.shape and found.dtype == expected.dtype
    if sp.issparse(expected):
        assert found.format == "csr" and found.nnz == expected.nnz
        found, expected = found.toarray(), expected.toarray()
    else:
        # The last digits of kernel values depend on it, and a loaded model gives those of the saved one.
        assert found.flags.c_contiguous == expected.flags.c_contiguous
    if expected.dtype.kind == "O":
        assert [type(cell) for cell in found.ravel()] == [type(cell) for cell in expected.ravel()]
        same = (found == expected) | ((found != found) & (expected != expected))
        assert same.all()
    else:
        limit = 1e-5 if expected.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(found, expected, rtol=limit, atol=limit)


def check_operation(transformer, X, *tables, names=True):
    """Fit a transformer on X and compare it with its operation on X, its first row and other tables."""
    transformer.fit(X)
    operation = as_operation(transformer, "the transformer", width_of(X))
    assert operation.n_in == width_of(X)
    assert as_operation(operation, "the transformer", 99) is operation
    for table in (X, X[:1], *tables):
        before = table.copy() if hasattr(table, "copy") else list(table)
        expected = transformer.transform(table)
        found = operation.transform(table)
        assert_like(found, expected)
        assert operation.n_out == found.shape[1]
        assert_same_table(table, before)
    if names:
        assert_same_names(transformer, operation)
    return operation


def assert_same_table(table, before):
    if sp.issparse(table):
        assert (table != before).nnz == 0 or not np.isfinite(table.data).all()
    elif hasattr(table, "equals"):
        assert table.equals(before)
    else:
        table, before = np.asarray(table, dtype=object), np.asarray(before, dtype=object)
        assert ((table == before) | ((table != table) & (before != before))).all()


def assert_same_names(transformer, operation):
    expected = transformer.get_feature_names_out()
    found = operation.get_feature_names_out()
    assert found.dtype == object and found.tolist() == list(expected)
    if not isinstance(operation, NamedOperation):
        given = [f"column {place}" for place in range(operation.n_in)]
        assert operation.get_feature_names_out(given).tolist() == list(transformer.get_feature_names_out(given))
