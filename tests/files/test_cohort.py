"""Views, similarity matrices, targets and groups, matched by sample id."""

import numpy as np
import pandas as pd
import pytest

from kernelweave.files.base import Options
from kernelweave.files.matching import read_matrix
from kernelweave.files.read import read_cohort
from kernelweave.files.sources import sources


def similarities(ids, columns=None):
    values = np.eye(len(ids)) + 0.25
    frame = pd.DataFrame(values, index=ids, columns=ids)
    return frame if columns is None else frame[columns]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "blood.csv").write_text("sample,iron,clinic\np1,1.5,A\np2,2.5,B\np3,0.5,A\n")
    similarities(["p3", "p4", "p1"], ["p1", "p3", "p4"]).to_csv(tmp_path / "trees.csv")
    (tmp_path / "labels.csv").write_text("sample,ill,site\np4,yes,7\np1,no,7\np2,no,8\np3,yes,\np9,no,9\n")
    return tmp_path


def test_samples_of_views_and_matrices_are_matched_by_id(folder):
    cohort = read_cohort([folder / "blood.csv"], "labels.csv:ill", matrices=[f"trees={folder / 'trees.csv'}"])
    X = cohort.tables.X
    assert list(X.index) == ["p1", "p2", "p3", "p4"] and list(X.columns) == ["blood__iron", "blood__clinic", "trees"]
    assert X["trees"].isna().tolist() == [False, True, False, False]
    assert X["trees"].dropna().tolist() == ["p1", "p3", "p4"]
    assert X.loc["p4"].isna().tolist() == [True, True, False]  # in the matrix only
    assert cohort.tables.y.tolist() == ["no", "no", "yes", "yes"] and cohort.groups is None
    assert cohort.tables.overlap.loc["trees", "samples"] == 3
    matrix = cohort.matrices["trees"]
    assert list(matrix.index) == list(matrix.columns) == ["p3", "p4", "p1"]  # as the rows of the file
    np.testing.assert_array_equal(np.diag(matrix), 1.25)


def test_matrices_without_views(folder):
    cohort = read_cohort([], "labels.csv:ill", matrices=[("trees", folder / "trees.csv")])
    assert list(cohort.tables.X.columns) == ["trees"] and list(cohort.tables.X.index) == ["p3", "p4", "p1"]
    with pytest.raises(ValueError, match="the target 'ill' needs a file"):
        read_cohort([], "ill", matrices=[("trees", folder / "trees.csv")])


def test_rows_of_new_samples(folder):
    pd.DataFrame([[0.1, 0.2]], index=["q1"], columns=["p1", "p3"]).to_csv(folder / "new.csv")
    (source,) = sources([("trees", folder / "new.csv")])
    block = read_matrix(source, Options(None, None, ".", None), square=False)
    assert block.index.tolist() == ["q1"] and block.columns.tolist() == ["p1", "p3"]
    with pytest.raises(ValueError, match="there is a row but no column 'q1'"):
        read_cohort([], matrices=[("trees", folder / "new.csv")])


def test_the_first_column_of_a_matrix_may_have_any_name(folder):
    frame = similarities(["p1", "p2", "p3"])
    frame.index.name = "who"
    frame.to_csv(folder / "kin.tsv", sep="\t")
    cohort = read_cohort([folder / "blood.csv"], "labels.csv:ill", matrices=[f"kin={folder / 'kin.tsv'}"], id="sample")
    assert cohort.tables.X["kin"].tolist() == ["p1", "p2", "p3"]


def test_ids_that_are_numbers(tmp_path, recwarn):
    similarities([9, 8, 7]).to_csv(tmp_path / "kin.csv", index_label="sample")
    (tmp_path / "labels.csv").write_text("sample,ill\n9,yes\n7,no\n8,no\n")
    cohort = read_cohort([], "labels.csv:ill", matrices=[f"kin={tmp_path / 'kin.csv'}"], id="sample")
    assert cohort.tables.X["kin"].tolist() == ["9", "8", "7"] and cohort.tables.y.tolist() == ["yes", "no", "no"]
    assert not recwarn.list


def test_a_matrix_without_ids_is_matched_by_row_order(folder):
    np.save(folder / "kin.npy", np.eye(3))
    cohort = read_cohort([folder / "blood.csv"], "blood.csv:iron", matrices=[f"kin={folder / 'kin.npy'}"])
    assert cohort.tables.X["kin"].tolist() == ["0", "1", "2"] and list(cohort.tables.X.index) == ["p1", "p2", "p3"]
    assert list(cohort.matrices["kin"].index) == ["0", "1", "2"]
    np.save(folder / "kin.npy", np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"must be square, not of shape \(3, 2\)"):
        read_cohort([folder / "blood.csv"], "blood.csv:iron", matrices=[f"kin={folder / 'kin.npy'}"])


def test_groups_of_a_file_and_of_a_view(folder):
    labels = folder / "labels.csv"
    cohort = read_cohort([folder / "blood.csv"], "labels.csv:ill", groups="blood.csv:clinic")
    assert cohort.groups.tolist() == ["A", "B", "A"] and list(cohort.tables.X.columns) == ["blood__iron"]
    labels.write_text(labels.read_text().replace("yes,\n", "yes,8\n"))
    cohort = read_cohort([folder / "blood.csv"], "labels.csv:ill", groups="labels.csv:site")
    assert cohort.groups.tolist() == ["7", "8", "8"] and cohort.groups.index.equals(cohort.tables.X.index)
    column = read_cohort([folder / "blood.csv"], "labels.csv:ill", groups="clinic")
    assert column.groups.tolist() == ["A", "B", "A"]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ("labels.csv:site", "1 sample of 3 has no group, such as 'p3'"),
        ("labels.csv:where", "has no column 'where'"),
        ("absent.csv:site", "there is no file 'absent.csv' for the groups"),
        ("nowhere", "none of the views has the column 'nowhere' of the groups"),
        ("labels.csv:ill", "is both target and groups"),
    ],
)
def test_wrong_groups(folder, groups, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        read_cohort([folder / "blood.csv"], "labels.csv:ill", groups=groups)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",p1,p3\np1,1,0.5\np3,,1\n", "row 'p3', column 'p1': the similarity is missing"),
        (",p1,p3\np1,1,x\np3,0.5,1\n", "column 'p3': a similarity matrix must hold numbers only"),
        (",p1,p3\np1,1,0.5\n", "there is a column but no row 'p3'"),
        (",p1,p3\np1,1,0.5\np1,0.5,1\n", "the id 'p1' stands over two rows"),
        (",x1,x3\nx1,1,0.5\nx3,0.5,1\n", "have no sample in common"),
    ],
)
def test_wrong_matrices(folder, text, message):
    (folder / "trees.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_cohort([folder / "blood.csv"], "labels.csv:ill", matrices=[f"trees={folder / 'trees.csv'}"])


def test_names_are_unique(folder):
    with pytest.raises(ValueError, match="the view 'blood' would be both"):
        read_cohort([folder / "blood.csv"], "labels.csv:ill", matrices=[f"blood={folder / 'trees.csv'}"])
    with pytest.raises(ValueError, match="at least one file of a view, or a similarity matrix"):
        read_cohort([], "labels.csv:ill")
