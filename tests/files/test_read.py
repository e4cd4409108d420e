"""The whole of `read_views`: matching, labels, overlap, and the round trip through files."""

import logging
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelweave
from kernelweave import MKLClassifier, read_views, stack_views
from kernelweave.files import ViewTables

RNA = "sample,TP53,MYC\np1,0.5,1.5\np2,2.5,0.25\np3,1.0,1.0\n"
CLINICAL = "sample,age,sex\np3,61,f\np4,70,f\np1,54,m\n"
LABELS = "sample,diagnosis\np1,ill\np4,well\np3,well\np9,ill\n"


@pytest.fixture
def three(write):
    write({"rna.csv": RNA, "clinical.csv": CLINICAL, "labels.csv": LABELS})
    return ["rna.csv", "clinical.csv"]


def test_samples_are_matched_by_id_and_lack_the_views_of_other_tables(three):
    tables = read_views(three, target="labels.csv:diagnosis", id="sample")
    assert isinstance(tables, ViewTables)
    assert list(tables.X.columns) == ["rna__TP53", "rna__MYC", "clinical__age", "clinical__sex"]
    assert list(tables.X.index) == ["p1", "p3", "p4"]
    assert tables.X.index.name == "sample"
    assert tables.X.loc["p3"].tolist() == [1.0, 1.0, 61, "f"]
    assert tables.X.loc["p4", ["rna__TP53", "rna__MYC"]].isna().all()
    assert tables.y.to_dict() == {"p1": "ill", "p3": "well", "p4": "well"}
    assert tables.y.name == "diagnosis"
    assert tables.y.index.equals(tables.X.index)


def test_samples_without_a_label_are_kept_apart(three):
    tables = read_views(three, target="labels.csv:diagnosis", id="sample")
    assert list(tables.unlabelled.index) == ["p2"]
    assert list(tables.unlabelled.columns) == list(tables.X.columns)
    assert tables.unlabelled.loc["p2", "rna__TP53"] == 2.5


def test_the_overlap_counts_samples(three):
    overlap = read_views(three, target="labels.csv:diagnosis", id="sample").overlap
    assert overlap["samples"].to_dict() == {
        "rna": 3,
        "clinical": 3,
        "in all views": 2,
        "only with a label": 1,
        "without a label": 1,
        "in X": 3,
    }
    assert overlap["labelled"].tolist() == [2, 3, 2, 1, 0, 3]


def test_a_new_cohort_has_no_target(three):
    tables = read_views(three, id="sample")
    assert tables.y is None
    assert tables.unlabelled is None
    assert list(tables.X.index) == ["p1", "p2", "p3", "p4"]
    assert tables.overlap["samples"].to_dict() == {"rna": 3, "clinical": 3, "in all views": 2, "in X": 4}


def test_what_was_taken_is_in_the_result_and_logged(three, caplog):
    with caplog.at_level(logging.INFO, logger="kernelweave.files"):
        tables = read_views(three, target="labels.csv:diagnosis", id="sample")
    assert tables.matched_by.to_dict() == dict.fromkeys(["rna", "clinical", "labels.csv"], "column 'sample'")
    assert "rna.csv: view 'rna', 3 samples, 2 columns, rows matched by column 'sample'" in caplog.messages
    assert any("labels.csv: target 'diagnosis', 4 labels" in message for message in caplog.messages)


def test_without_a_name_a_first_column_of_unique_text_has_the_ids(three):
    named = read_views(three, target="labels.csv:diagnosis", id="sample")
    found = read_views(three, target="labels.csv:diagnosis")
    pd.testing.assert_frame_equal(found.X, named.X)
    pd.testing.assert_series_equal(found.y, named.y)
    assert found.matched_by["rna"] == "first column 'sample'"


def test_the_result_prints_in_a_terminal(three):
    text = repr(read_views(three, target="labels.csv:diagnosis", id="sample"))
    assert text.startswith("ViewTables of 3 samples and 4 columns, target 'diagnosis'")
    assert "only with a label" in text
    assert "column 'sample'" in text
    assert max(map(len, text.splitlines())) <= 80


def test_many_views_with_long_names_print_in_a_terminal(write):
    write({f"{'long name ' * 8}{j}.csv": RNA for j in range(40)})
    text = repr(read_views(sorted(Path().glob("*.csv"))))
    assert len(text.splitlines()) < 60
    assert max(map(len, text.splitlines())) <= 80


def test_a_target_in_a_views_table_is_no_part_of_the_view(write):
    write({"rna.csv": RNA, "clinical.csv": "sample,age,diagnosis\np1,54,ill\np2,60,well\np3,61,ill\n"})
    for target in ("diagnosis", "clinical.csv:diagnosis", "clinical:diagnosis", ("clinical.csv", "diagnosis")):
        tables = read_views(["rna.csv", "clinical.csv"], target=target, id="sample")
        assert list(tables.X.columns) == ["rna__TP53", "rna__MYC", "clinical__age"]
        assert tables.y.tolist() == ["ill", "well", "ill"]
        assert list(tables.matched_by.index) == ["rna", "clinical"]
    target = f"{Path('clinical.csv').absolute()}:diagnosis"
    assert list(read_views({"a": "rna.csv", "b": "clinical.csv"}, target=target).X.columns)[2:] == ["b__age"]


def test_a_file_of_labels_among_the_views_is_no_view(three):
    tables = read_views(sorted(Path().glob("*.csv")), target="labels.csv:diagnosis", id="sample")
    assert set(tables.X.columns) == {"rna__TP53", "rna__MYC", "clinical__age", "clinical__sex"}
    again = read_views(sorted(Path().glob("*.csv")), target="labels.csv:diagnosis")
    assert set(again.X.columns) == set(tables.X.columns)
    assert list(again.matched_by.index) == ["clinical", "rna", "labels.csv"]


def test_the_column_of_a_target_may_be_left_out_where_there_is_one(three):
    tables = read_views(three, target="labels.csv")
    assert tables.y.name == "diagnosis"
    assert read_views(three, target=Path("labels.csv"), id="sample").y.name == "diagnosis"
    with pytest.raises(ValueError, match=r"clinical.csv has 2 columns that could be the target \(age, sex\)"):
        read_views(three, target="clinical.csv")


def test_the_file_of_a_target_is_found_beside_the_views(write):
    write({"data/rna.csv": RNA, "data/labels.csv": LABELS})
    assert read_views(["data/rna.csv"], target="labels.csv:diagnosis").y.tolist() == ["ill", "well"]


def test_files_of_targets_that_cannot_be_read(write):
    write({"data/rna.csv": RNA, "b/dna.csv": RNA, "data/labels.csv": LABELS, "b/labels.csv": LABELS, "y.xlsx": LABELS})
    views = ["data/rna.csv", "b/dna.csv"]
    with pytest.raises(ValueError, match="'labels.csv' of the target is there 2 times, .*; give the whole path of one"):
        read_views(views, target="labels.csv:diagnosis")
    assert read_views(views, target="b/labels.csv:diagnosis").y.tolist() == ["ill", "well"]
    for target in ("y.xlsx:diagnosis", ("y.xlsx", "diagnosis"), Path("y.xlsx")):
        with pytest.raises(ValueError, match="y.xlsx has the suffix '.xlsx'.*save the sheet as CSV"):
            read_views(views, target=target)
    with pytest.raises(ValueError, match="target must be 'FILE:COLUMN'"):
        read_views(views, target=(1, 2))


def test_a_column_with_a_colon_that_begins_like_a_file(write):
    write({"age": "", "rna.csv": "sample,age:now,x\np1,1,2\np2,3,4\n"})
    assert read_views(["rna.csv"], target="age:now").y.tolist() == [1, 3]


def test_columns_and_files_with_colons(write):
    write({"rna.csv": RNA, "C:x.csv": "sample,a:b\np1,1\np2,0\np3,1\n"})
    tables = read_views(["rna.csv"], target="C:x.csv:a:b", id="sample")
    assert tables.y.name == "a:b"
    assert tables.y.tolist() == [1, 0, 1]


def test_labels_are_clean(write):
    write({"rna.csv": RNA, "labels.csv": "sample,y,n,b\np1,ill ,1,TRUE\np2,,,\np3, well,2,FALSE\n"})
    tables = read_views(["rna.csv"], target="labels.csv:y", id="sample")
    assert tables.y.tolist() == ["ill", "well"]
    assert list(tables.unlabelled.index) == ["p2"]
    assert read_views(["rna.csv"], target="labels.csv:n", id="sample").y.dtype == np.int64
    assert read_views(["rna.csv"], target="labels.csv:b", id="sample").y.dtype == bool


def test_rows_without_any_value_are_a_missing_view(write):
    write({"rna.csv": RNA, "clinical.csv": "sample,age,sex\np1,,NA\np2,60,\np3,61,f\np5,,\n"})
    tables = read_views(["rna.csv", "clinical.csv"], id="sample")
    assert tables.overlap.loc["clinical", "samples"] == 2
    assert list(tables.X.index) == ["p1", "p2", "p3"]


def test_a_first_column_without_a_name_may_be_the_target(write):
    write({"rna.csv": ",TP53\nill,0.5\nwell,2.5\n"})
    tables = read_views(["rna.csv"], target="Unnamed: 0")
    assert tables.y.tolist() == ["ill", "well"]
    assert list(tables.X.columns) == ["rna__TP53"]


def test_an_empty_column_stays(write):
    write({"rna.csv": "sample,TP53,MYC\np1,0.5,\np2,2.5,\n"})
    X = read_views(["rna.csv"], id="sample").X
    assert list(X.columns) == ["rna__TP53", "rna__MYC"]
    assert X["rna__MYC"].isna().all()


def test_a_model_is_fitted_and_predicts_a_cohort_from_files(folder):
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 20)
    ids = pd.Index([f"s{j}" for j in range(40)], name="id")
    values = rng.normal(size=(40, 3)) + 2 * (y == "a")[:, None]
    pd.DataFrame(values, index=ids, columns=list("uvw")).sample(frac=1, random_state=0).to_csv("one.csv")
    pd.DataFrame(values[5:, :2], index=ids[5:]).to_csv("two.tsv", sep="\t")
    pd.Series(y, index=ids, name="class").sample(frac=1, random_state=1).to_csv("y.csv")
    tables = read_views(["one.csv", "two.tsv"], target="y.csv:class", id="id")
    model = MKLClassifier().fit(tables.X, tables.y)
    assert set(model.kernel_names_) == {"one", "two"}
    assert model.score(tables.X, tables.y) >= 0.9


ERRORS = {
    "no such column": (
        {"target": "labels.csv:diagnosys", "id": "sample"},
        r"labels.csv has no column 'diagnosys' \(there are 'sample', 'diagnosis'\); did you mean 'diagnosis'\?",
    ),
    "no such target anywhere": (
        {"target": "survival", "id": "sample"},
        r"none of the 2 files has a column 'survival' \(there are 'sample', 'TP53', 'MYC', 'age', 'sex'\)",
    ),
    "no such id": (
        {"id": "patient"},
        r"rna.csv has no column 'patient' \(there are 'sample', 'TP53', 'MYC'\); rename",
    ),
    "almost the id": ({"id": "Sample"}, r"rna.csv has no column 'Sample' .*; did you mean 'sample'\?"),
    "id is target": ({"target": "labels.csv:sample", "id": "sample"}, "'sample' is both id and target"),
    "id is a number": ({"id": 3}, "id must be a column's name, a mapping from views to names, None or False, not 3"),
    "id of no view": (
        {"id": {"dna": "sample"}},
        "id names 'dna', which is none of the views and files rna, rna.csv",
    ),
    "decimal": ({"decimal": "!"}, r"decimal must be '.' or ',', not '!'"),
    "sep": ({"sep": ", "}, "sep must be one character"),
    "encoding": ({"encoding": "western"}, "encoding must be a name such as 'cp1252', not 'western'"),
    "target without column": ({"target": "labels.csv:"}, "target='labels.csv:' names no column; pass 'FILE:COLUMN'"),
    "target": ({"target": 3}, "target must be 'FILE:COLUMN', the name of a column, or None, not 3"),
}


@pytest.mark.parametrize("name", ["labels", "labels.csv"])
def test_the_file_of_the_target_has_another_id(write, name):
    write({"rna.csv": RNA, "labels.csv": "patient,diagnosis\np2,well\np1,ill\n"})
    message = "labels.csv has no column 'sample' .there are 'patient', 'diagnosis'.; rename .* from views or files to "
    with pytest.raises(ValueError, match=message):
        read_views(["rna.csv"], target="labels.csv:diagnosis", id="sample")
    tables = read_views(["rna.csv"], target="labels.csv:diagnosis", id={"rna": "sample", name: "patient"})
    assert tables.y.to_dict() == {"p1": "ill", "p2": "well"}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_name_what_is_wrong(three, case):
    arguments, message = ERRORS[case]
    with pytest.raises(ValueError, match=message):
        read_views(three, **arguments)


def test_a_target_in_two_tables_is_asked_back(write):
    write({"a.csv": "sample,x,y\np1,1,2\np2,2,3\n", "b.csv": "sample,z,y\np1,1,2\np2,2,3\n"})
    with pytest.raises(ValueError, match="the target 'y' is a column of a.csv and b.csv; pass target='a.csv:y'"):
        read_views(["a.csv", "b.csv"], target="y", id="sample")


def test_a_missing_file_of_labels(three):
    with pytest.raises(FileNotFoundError, match="there is no file 'label.csv' for the target"):
        read_views(three, target="label.csv:diagnosis")


def test_tables_that_share_no_sample(write):
    write(
        {"rna.csv": RNA, "labels.csv": "sample,diagnosis\nP-01,ill\nP-02,well\n", "other.csv": "sample,z\nq7,1\nq8,2\n"}
    )
    message = "rna.csv and labels.csv have no sample in common.*written differently, 'p1' and 'P-01'"
    with pytest.raises(ValueError, match=message):
        read_views(["rna.csv"], target="labels.csv:diagnosis", id="sample")
    with pytest.raises(ValueError, match="other.csv and labels.csv.*the first ids are 'q7' and 'P-01'"):
        read_views(["other.csv"], target="labels.csv:diagnosis", id="sample")
    with pytest.raises(ValueError, match="rna.csv and labels.csv have no sample in common"):
        read_views(["rna.csv", "labels.csv"], id="sample")
    with pytest.warns(UserWarning, match="rna.csv and other.csv have no sample in common.*all right") as caught:
        tables = read_views(["rna.csv", "other.csv"], id="sample")
    assert [warning.filename for warning in caught] == [__file__]
    assert tables.overlap.loc["in all views", "samples"] == 0


def test_ids_with_suffixes_are_shown(write):
    write({"rna.csv": "sample,a\nTCGA-7,1\nTCGA-8,2\n", "labels.csv": "sample,y\nX,0\nTCGA-8-A,1\n"})
    with pytest.raises(ValueError, match="written differently, 'TCGA-8' and 'TCGA-8-A'"):
        read_views(["rna.csv"], target="labels.csv:y", id="sample")


def test_a_table_whose_samples_are_columns(write):
    write({"rna.csv": "gene,p1,p2,p3\nTP53,1,2,3\nMYC,4,5,6\n", "labels.csv": LABELS, "clinical.csv": CLINICAL})
    for arguments in ({"paths": ["rna.csv"], "target": "labels.csv:diagnosis"}, {"paths": ["rna.csv", "clinical.csv"]}):
        with pytest.raises(ValueError, match="samples are the columns of rna.csv, such as 'p1'.*transpose the table"):
            read_views(**arguments)


@pytest.mark.parametrize("text", ["sample\np1\np2\n", "sample,a,b\np1,,\np2,NA,\n"])
def test_a_table_without_usable_columns(write, text):
    write({"rna.csv": RNA, "x.csv": text})
    with pytest.raises(ValueError, match="x.csv has no (usable )?column"):
        read_views(["rna.csv", "x.csv"], id="sample")


def test_labels_of_samples_that_are_empty(write):
    write({"a.csv": "sample,x\np1,\np2,3\n", "b.csv": RNA, "labels.csv": "sample,y\np1,1\np2,\n"})
    with pytest.raises(ValueError, match="a.csv has no value for any sample that has a label in labels.csv"):
        read_views(["b.csv", "a.csv"], target="labels.csv:y", id="sample")


def test_labels_that_are_all_missing(write):
    write({"rna.csv": RNA, "labels.csv": "sample,y\np1,\np2,\n"})
    with pytest.raises(ValueError, match="labels.csv, column 'y': every cell is empty"):
        read_views(["rna.csv"], target="labels.csv:y", id="sample")


names = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\x00", exclude_categories=("Cs", "Cc", "Z")), min_size=1
)
cells = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))
texts = st.text("abcü ,;\"'\n", min_size=1).map(lambda text: f"t{text}t")


@st.composite
def problems(draw):
    """Frames by view, each with some of the samples in an order of its own."""
    samples = draw(st.lists(names.map(lambda text: f"s{text}"), min_size=3, max_size=8, unique=True))
    views = {}
    for view in draw(st.lists(st.sampled_from(["rna", "b c", "x.y", "d"]), min_size=1, max_size=3, unique=True)):
        order = draw(st.permutations(samples))
        rows = order[: draw(st.integers(2, len(order)))] if views else order
        columns = draw(st.lists(names, min_size=1, max_size=4, unique=True))
        columns = [column for column in columns if column != "sample"] or ["c"]
        kinds = [draw(st.sampled_from([cells, texts])) for _ in columns]
        data = {name: [draw(kind) for _ in rows] for name, kind in zip(columns, kinds, strict=True)}
        views[view] = pd.DataFrame(data, index=pd.Index(rows, name="sample"))
    return views


@settings(max_examples=30, deadline=None)
@given(problems(), st.sampled_from([".csv", ".tsv", ".csv.gz", ".parquet"]), st.sampled_from([None, "sample"]))
def test_views_that_were_written_to_files_come_back(views, suffix, wanted):
    if wanted is None and any(frame.shape[1] < 1 for frame in views.values()):
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for name, frame in views.items():
            paths[name] = Path(folder) / f"{name}{suffix}"
            if suffix == ".parquet":
                frame.to_parquet(paths[name])
            else:
                frame.to_csv(paths[name], sep="\t" if "tsv" in suffix else ",")
        tables = read_views(list(paths.values()), id=wanted)
    expected = stack_views(views)
    assert list(tables.X.index) == list(dict.fromkeys(row for frame in views.values() for row in frame.index))
    pd.testing.assert_frame_equal(
        tables.X, expected.loc[tables.X.index], check_dtype=False, check_index_type=False, check_column_type=False
    )


def test_read_views_is_public():
    assert kernelweave.read_views is kernelweave.files.read_views


def test_a_later_cohort_lacks_a_view_and_has_its_columns_in_another_order(folder):
    rng = np.random.default_rng(1)
    y = np.repeat(["a", "b"], 20)
    values = rng.normal(size=(40, 3)) + 3 * (y == "a")[:, None]
    ids = pd.Index([f"s{j}" for j in range(40)], name="sample")
    frame = pd.DataFrame(values, index=ids, columns=["u v", "w.x", "y__z"])
    frame.to_csv("one.csv")
    frame[["u v"]].to_csv("two.csv")
    pd.Series(y, index=ids, name="class").to_csv("labels.csv")
    tables = read_views(["one.csv", "two.csv"], target="labels.csv:class", id="sample")
    model = MKLClassifier().fit(tables.X, tables.y)
    folder.joinpath("new").mkdir()
    frame[["y__z", "u v", "w.x"]].iloc[::-1].rename(index=lambda name: f"new {name}").to_csv("new/one.csv")
    new = read_views(["new/one.csv"], id="sample").X
    assert list(new.columns) == ["one__y__z", "one__u v", "one__w.x"]
    assert (model.predict(new) == y[::-1]).mean() > 0.9
    frame[["y__z", "u v"]].to_csv("new/one.csv")
    with pytest.raises(ValueError, match="w.x"):
        model.predict(read_views(["new/one.csv"], id="sample").X)
