"""A column with the name of the target gives the answer away: it is left out with a warning, unless it is kept."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from kernelweave import read_views
from kernelweave.files.base import KeptColumns, Table, without_copies
from kernelweave.files.read import read_cohort

FILES = {
    "rna.csv": "id,g1\na,1\nb,2\nc,3\n",
    "prot_dx.csv": "id,p1,dx\na,4,u\nb,5,v\nc,6,u\n",
    "labels.csv": "id,dx,age\na,u,50\nb,v,60\nc,u,70\n",
}
PATHS = list(FILES)


def test_it_is_left_out_with_a_warning(write):
    write(FILES)
    with pytest.raises(ValueError, match="pass target='prot_dx.csv:dx'"):
        read_views(PATHS, target="dx")
    message = (
        r"^labels.csv: the column 'dx' has the name of the target and is left out, because it would give the answer "
        r"away; where it is something else, pass keep_columns=\['labels.csv:dx'\]$"
    )
    with pytest.warns(UserWarning, match=message) as warned:
        tables = read_views(PATHS, target="prot_dx.csv:dx")
    assert len(warned) == 1 and list(tables.X.columns) == ["rna__g1", "prot_dx__p1", "labels__age"]
    with pytest.warns(UserWarning, match="prot_dx.csv: the column 'dx'"):
        beside = read_views(PATHS[:2], target="labels.csv:dx")  # the file of the target is no view
    assert list(beside.X.columns) == ["rna__g1", "prot_dx__p1"]


@pytest.mark.parametrize("entry", ["labels.csv:dx", "labels:dx"])
def test_it_is_kept_where_that_is_asked_for(write, entry):
    write(FILES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tables = read_views(PATHS, target="prot_dx.csv:dx", keep_columns=[entry])
    assert "labels__dx" in tables.X
    with pytest.warns(UserWarning, match="labels.csv"):
        assert "labels__dx" not in read_cohort(PATHS, "prot_dx.csv:dx").tables.X
    assert "labels__dx" in read_cohort(PATHS, "prot_dx.csv:dx", keep_columns=[entry]).tables.X


def test_a_file_with_nothing_else_is_no_view(write):
    write(FILES | {"only.csv": "id,dx\na,u\nb,v\nc,u\n"})
    with pytest.warns(UserWarning, match="only.csv"):
        tables = read_views(["rna.csv", "only.csv"], target="labels.csv:dx")
    assert list(tables.X.columns) == ["rna__g1"]
    with (
        pytest.warns(UserWarning, match="only.csv"),
        pytest.raises(ValueError, match="no file has columns for a view beside ids and target"),
    ):
        read_views(["only.csv"], target="labels.csv:dx")


def test_wrong_entries_are_named(write):
    write(FILES)
    for entry in ("labels.csv:age", "other.csv:dx"):
        with pytest.warns(UserWarning), pytest.raises(ValueError, match=f"keep_columns has '{entry}', but there is no"):
            read_views(PATHS, target="prot_dx.csv:dx", keep_columns=[entry])
    with pytest.raises(ValueError, match="but there is no such column with the name of the target: all"):
        read_views(PATHS, keep_columns=["labels.csv:dx"])
    with pytest.raises(ValueError, match="keep_columns must be a list such as"):
        read_views(PATHS, target="labels.csv:dx", keep_columns="labels.csv:dx")


def test_sparse_tables_and_positions():
    matrix = sp.csr_matrix(np.arange(6.0).reshape(2, 3))
    table = Table("counts", "counts.npz", matrix, columns=["g", "dx", "h"])
    with pytest.warns(UserWarning, match="counts.npz: the column 'dx'"):
        (found,) = without_copies([table], "dx", KeptColumns([]))
    assert found.columns == ["g", "h"] and found.values.toarray().tolist() == [[0.0, 2.0], [3.0, 5.0]]
    numbered = Table("counts", "counts.npz", matrix, columns=["0", "1", "2"])
    assert without_copies([numbered], "1", KeptColumns([]))[0].columns == ["0", "1", "2"]
