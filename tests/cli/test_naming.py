"""Which view of a model each file of new samples is."""

import numpy as np
import pytest

from kernelweave.cli.prediction import named_views

VIEWS = ["rna", "protein", "rna-seq", "clinical data"]


@pytest.mark.parametrize(
    ("file", "view"),
    [
        ("rna.csv", "rna"),
        ("rna-new.csv", "rna"),
        ("folder/rna_2024.csv.gz", "rna"),
        ("new.rna.tsv", "rna"),
        ("RNA new.csv", "rna"),
        ("rna-seq-new.csv", "rna-seq"),
        ("clinical data (2).csv", "clinical data"),
        ("protein.new.parquet", "protein"),
    ],
)
def test_a_file_without_a_name_is_the_view_that_it_is_called_by(file, view):
    assert named_views([file], VIEWS) == [f"{view}={file}"]


def test_names_that_are_given_go_first():
    words = ["protein=rna-new.csv", "rna=protein-new.csv"]
    assert named_views(words, VIEWS) == words


def test_one_file_is_the_only_view():
    assert named_views(["cohort.csv"], ["rna"]) == ["rna=cohort.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["cohort.csv"],
            "it is not clear which view cohort.csv is; write VIEW=cohort.csv, where the model's views are",
        ),
        (["rnaseq.csv"], "it is not clear which view rnaseq.csv is"),
        (["gene=rna.csv"], "the model has no view 'gene'; its views are rna, protein"),
        (["rna.csv", "rna-new.csv"], "both rna.csv and rna-new.csv would be the view 'rna'"),
        (["a.csv", "b.csv"], "it is not clear which view a.csv is"),
    ],
)
def test_what_cannot_be_decided_is_refused(words, message):
    with pytest.raises(ValueError) as error:
        named_views(words, VIEWS)
    assert message in str(error.value)


def test_files_with_several_views_keep_their_names(tmp_path):
    several, one = tmp_path / "rna-new.npz", tmp_path / "protein-new.npz"
    np.savez(several, rna=np.ones((2, 2)), protein=np.ones((2, 2)), ids=np.array(["a", "b"]))
    np.savez(one, values=np.ones((2, 2)), ids=np.array(["a", "b"]))
    assert named_views([str(several), str(one)], VIEWS) == [str(several), f"protein={one}"]
