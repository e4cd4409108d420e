"""Whole numbers of files, which point into arrays: none that is out of range is loaded, however large it is.

Takes about 10 seconds: a process of its own loads and predicts with hundreds of forged files.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kernelweave
import saved_files
from forging import SavedModel, holders
from kernelweave import load
from kernelweave.saving.codecs import CODECS
from kernelweave.validation.schemas import check_whole

pytestmark = pytest.mark.long

TESTS = Path(__file__).parents[1]
SCRIPT = TESTS / "saving" / "try_extremes.py"
HIGH = 2**31 - 1


def forged(tmp_path, name, attribute, change):
    """What `load` says to a file of this kind in which one array of an attribute is changed."""
    file = SavedModel(saved_files.unpacked(saved_files.newest(name), name))
    member = next(member for member, holder in holders(file.document["rows"]).items() if holder == attribute)
    file.written(tmp_path / "forged", arrays={**file.arrays, member: change(file.arrays[member])})
    with pytest.raises(ValueError, match="^cannot load .*: its ") as caught:
        load(tmp_path / "forged")
    return str(caught.value).partition(": its ")[2]


@pytest.mark.parametrize("name", ["columns, boosting, three classes", "columns, forest"])
def test_outputs_of_trees(tmp_path, name):
    """The first output and the number of values of a leaf, added up as int32, were below 0."""
    said = forged(tmp_path, name, ("TreeSum", "first"), lambda old: np.full_like(old, HIGH))
    assert re.search(rf"scores_.first holds {HIGH} where numbers below \d \(outputs\) are expected", said)


@pytest.mark.parametrize("kind", ["csr_matrix", "csr_array"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_rows_of_sparse_matrices(kind, dtype):
    """SciPy's check takes differences of `indptr`, which are above 0 where it jumps from the largest number to -2."""
    high = np.iinfo(dtype).max

    def build(indices, indptr):
        parts = [(3, 5), np.ones(3), np.array(indices, dtype=dtype), np.array(indptr, dtype=dtype)]
        return CODECS[kind].build(parts)

    assert build([0, 1, 2], [0, 1, 2, 3]).nnz == 3
    for indices, indptr, message in [
        ([0, 1, 2], [0, high, -2, 3], "its sparse matrix holds -2, which is less than 0"),
        ([0, 1, 2], [0, 2, high, 3], rf"its sparse matrix holds {high} where numbers below 4 \(entries\)"),
        ([0, 1, 2], [0, 2, 1, 3], "whose rows overlap"),
        ([0, 1, 5], [0, 1, 2, 3], r"its sparse matrix holds 5 where numbers below 5 \(columns\)"),
        ([0, -1, 2], [0, 1, 2, 3], "its sparse matrix holds -1"),
    ]:
        with pytest.raises(ValueError, match=message):
            build(indices, indptr)


def test_features_of_outputs(tmp_path):
    """Nothing compared them with the number of explicit features."""
    of = ("OutputStates", "rows")
    said = forged(tmp_path, "explicit, weights per class", of, lambda old: old + 1)
    assert re.search(r"_state.rows\[\d\] holds \d+ where numbers below \d+ \(features\) are expected", said)
    assert "has the length" in forged(tmp_path, "explicit, weights per class", of, lambda old: old[1:])


def test_whole_numbers():
    check_whole(np.empty(0, dtype=int), "rows", below=0, ascending=True)
    check_whole(np.array([-1, 0, 5]), "rows", low=-1, below=6, ascending=True)
    for values, options, message in [
        ([-1, 0], {}, "its rows holds -1, which is less than 0"),
        ([0, 6], {"below": 6}, "its rows holds 6 where numbers below 6 are expected"),
        ([0, 0], {"ascending": True}, "its rows holds numbers that are not in ascending order"),
        ([0, -128, 127], {"low": -128, "ascending": True}, "not in ascending order"),  # 127 less -128 is -1 as int8
    ]:
        with pytest.raises(ValueError, match=message):
            check_whole(np.array(values, dtype=np.int8), "rows", **options)


def try_extremes(folder, *arguments, script=SCRIPT):
    """Run the script; fails where it does, with what it tried last if it was ended by the system."""
    source = Path(kernelweave.__file__).parents[1]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(source), str(TESTS)]),
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(folder),  # such code is not for others
    }
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    tried = done.stdout.splitlines() or ["nothing"]
    if done.returncode < 0:
        raise AssertionError(f"ended by signal {-done.returncode} at the file with {tried[-1]}")
    assert done.returncode == 0, done.stderr[-5000:]
    return tried


def test_extreme_integers_of_each_attribute(tmp_path):
    tried = try_extremes(tmp_path, "once")
    assert len(tried) > 500 and any("TreeSum.first with (2147483647, -2)" in line for line in tried)


@pytest.mark.long
@pytest.mark.parametrize("part", range(4))
def test_extreme_integers_of_all_kinds(tmp_path, part):
    """Every attribute in every kind of model: about a minute for each part."""
    assert len(try_extremes(tmp_path, "all", str(part), "4")) > 3000


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "ended by signal 11 at the file with kind: Class.attribute"),
        ("sys.exit('kind: Class.attribute')", "kind: Class.attribute"),
    ],
)
def test_a_process_that_ends_is_seen(tmp_path, last, message):
    script = tmp_path / "script.py"
    script.write_text(f"import os, signal, sys\nprint('kind: Class.attribute', flush=True)\n{last}\n")
    with pytest.raises(AssertionError, match=message):
        try_extremes(tmp_path, script=script)
