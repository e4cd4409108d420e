"""Rows of the benchmark: names, kinds, problems with missing views, dense and sparse."""

import numpy as np
import pytest
import scipy.sparse as sp

from experiments.benchmark import DATA_SETS, choose_data_sets
from experiments.benchmark.data_sets import find_data_set, mask_by_block
from experiments.benchmark.ingredients import view_block
from experiments.benchmark.measures import split_digest
from experiments.benchmark.run import FixedDraws


@pytest.fixture
def home(tmp_path):
    """A data home with one set of sparse views, MOVIES in small."""
    rng = np.random.default_rng(0)
    arrays = {"y": np.arange(68) % 17 + 1}
    for view, width in {"keywords": 1878, "actors": 1398}.items():
        matrix = sp.random(68, width, 0.01, format="csr", random_state=rng.integers(100))
        for part in ("data", "indices", "indptr"):
            arrays[f"{view}_{part}"] = getattr(matrix, part)
        arrays[f"{view}_shape"] = np.array(matrix.shape)
    np.savez(tmp_path / "movies.npz", **arrays)
    return tmp_path


def test_every_set_of_several_views_is_there_three_times():
    kinds = {kind: [row for row in DATA_SETS.values() if row.kind == kind] for kind in ("views", "masked", "kernels")}
    assert len(kinds["masked"]) == 2 * len(kinds["views"]) == 24
    assert len(kinds["kernels"]) >= 10


def test_rows_by_name_and_by_kind():
    assert choose_data_sets([]) == list(DATA_SETS.values())
    assert {row.kind for row in choose_data_sets(["masked"])} == {"masked"}
    assert [row.name for row in choose_data_sets(["heart", "heart"])] == ["heart"]
    with pytest.raises(ValueError, match="no data set 'sonr'.*did you mean 'sonar'"):
        find_data_set("sonr")


def test_a_masked_set_lacks_the_views_of_its_mask():
    whole, masked = (find_data_set(name)(None) for name in ("multifeat", "multifeat-block"))
    present = mask_by_block(2000, 6)
    for place, view in enumerate(masked.views):
        block, there = view_block(masked.X, view)
        assert np.array_equal(there, present[:, place])
        assert np.array_equal(block[there], view_block(whole.X, view)[0][there])
    assert np.array_equal(whole.y, masked.y)


def test_sparse_views_stay_sparse_and_can_be_missing(home):
    whole, masked = (find_data_set(name)(home) for name in ("movies", "movies-random"))
    assert list(whole.X.columns) == list(whole.views) == ["keywords", "actors"]
    assert not whole.X.isna().any().any()
    assert masked.X.isna().any().all() and not masked.X.isna().all(axis=1).any()


def test_splits_are_fixed():
    y = find_data_set("multifeat")(None).y
    splits = FixedDraws().split(y, stratify=True)
    assert [len(split.train) for split in splits] == [300] * 3 and [len(split.test) for split in splits] == [1000] * 3
    assert [split_digest(split) for split in splits] == ["bab357972a50", "f812b768af81", "aa6eacacf8de"]


def test_more_splits_leave_the_first_as_they_are():
    y = np.arange(90) % 3
    few, more = FixedDraws(2).split(y, stratify=True), FixedDraws(4).split(y, stratify=True)
    assert [split_digest(one) for one in few] == [split_digest(one) for one in more[:2]]
    assert repr(FixedDraws(2)) == repr(FixedDraws(4)) != repr(FixedDraws(2, n_train=30))
