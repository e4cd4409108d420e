"""Digests of data in memory: the same for equal data, another for any other."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernelweave.views.digests import data_digest, digest

A = np.array([[1.0, 2.0, 0.0], [3.0, 4.0, 0.0]])
FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", None]}, index=["p", "q"])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (A, A.tolist()),
        (A, np.asfortranarray(A)),
        (A, np.ascontiguousarray(A[:, ::-1])[:, ::-1]),
        (np.array(["a", "bb"]), np.array(["a", "bb"], dtype="<U9")),
        (np.array(["a", "bb"]), np.array(["a", "bb"], dtype=object)),
        (FRAME, FRAME.copy()),
        (FRAME["a"], FRAME[["a"]]),
        (sp.csr_matrix(A), sp.csc_matrix(A)),
        (sp.csr_matrix(A), sp.csr_matrix(([1.0, 1.0, 1.0, 3.0, 4.0], [1, 1, 0, 0, 1], [0, 3, 5]), (2, 3))),
        (sp.csr_matrix(A), sp.csr_matrix(([1.0, 2.0, 0.0, 3.0, 4.0], [0, 1, 2, 0, 1], [0, 3, 5]), (2, 3))),
    ],
)
def test_equal_data_have_the_same_digest(one, other):
    assert digest(one) == digest(other)


def test_any_difference_makes_another():
    long = np.zeros(5000)
    others = [
        *(A, A[::-1], A[:, ::-1], A.T, A.ravel(), A.astype(np.float32), A.astype(int), A + 1e-15, sp.csr_matrix(A)),
        *(sp.csr_matrix(A[::-1]), sp.csr_matrix(np.c_[A, A[:, 2]]), np.array([1, 2]), np.array(["1", "2"])),
        *(FRAME, FRAME[::-1], FRAME[["b", "a"]], FRAME.rename(columns={"a": "c"}), FRAME.set_axis(["p", "r"], axis=0)),
        *(_objects(long), _objects(long + (np.arange(5000) == 2500))),
        *(np.array([(1.0, True)], dtype=[("time", "f8"), ("event", "?")]),),
    ]
    assert len({digest(other) for other in others}) == len(others)


def _objects(entry):
    found = np.empty(1, dtype=object)
    found[0] = entry
    return found


def test_fingerprints_of_stored_results_stay_as_they_are():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}, index=["p", "q"]).astype({"b": object})
    assert digest(frame) == "ae16e92a5f6c6b98f67ac6ded6ceeca21935e02359e6a111bb6fb2fdb9bb85b4"
    assert data_digest(A, np.array([0, 1])) == "0808d6b80a8727ec0b572394bd3c8a3301532887470c5fb94761d8341483507f"
