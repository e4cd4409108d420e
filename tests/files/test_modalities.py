"""MuData and AnnData files."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from kernelweave import read_views


def test_without_mudata_the_extra_is_named(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "mudata", None)
    write({"a.h5mu": ""})
    with pytest.raises(ImportError, match=r"mudata is needed to read a.h5mu; pip install kernelweave\[mudata\]"):
        read_views(["a.h5mu"])


@pytest.fixture
def study(folder):
    """study.h5mu: a dense and a sparse modality of partly the same samples, and a diagnosis in obs."""
    mudata = pytest.importorskip("mudata")
    anndata = pytest.importorskip("anndata")
    rng = np.random.default_rng(0)
    rna = anndata.AnnData(rng.normal(size=(4, 3)), obs=pd.DataFrame(index=list("abcd")))
    rna.var_names = ["TP53", "MYC", "EGFR"]
    rna.obs["batch"] = [1, 2, 1, 2]
    rna.obs["code"] = ["A1", "B2", "C3", "D4"]
    protein = anndata.AnnData(
        sp.csr_matrix(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])), obs=pd.DataFrame(index=list("dce"))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = mudata.MuData({"rna": rna, "protein": protein})
        data.obs["diagnosis"] = pd.Categorical(["ill", "well", "ill", None, "well"], categories=["well", "ill"])
        data.write("study.h5mu")
        rna.write("rna.h5ad")
    return rna, protein, data


def test_modalities_are_views(study):
    rna, protein, data = study
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tables = read_views(["study.h5mu"], target="study.h5mu:diagnosis")
    assert list(tables.X.columns) == ["rna__TP53", "rna__MYC", "rna__EGFR", "protein"]
    expected = data.obs["diagnosis"].dropna()
    assert tables.y.to_dict() == expected.to_dict()
    assert list(tables.X.index) == ["a", "b", "c", "e"]
    assert list(tables.unlabelled.index) == ["d"]
    np.testing.assert_allclose(tables.X.loc[list("abc"), "rna__TP53"], rna.X[:3, 0])
    assert tables.X["protein"].isna().tolist() == [True, True, False, False]
    np.testing.assert_array_equal(tables.X["protein"].array.matrix.toarray()[2:], [[0.0, 2.0], [3.0, 0.0]])
    assert tables.X.loc["e", ["rna__TP53", "rna__MYC", "rna__EGFR"]].isna().all()
    assert tables.matched_by.to_dict()["rna"] == "obs_names"


def test_modalities_beside_tables(study, write):
    write({"clinical.csv": "sample,age\nc,60\na,50\n", "labels.csv": "sample,y\na,u\nc,v\nd,u\n"})
    tables = read_views(["study.h5mu", "clinical.csv"], target="labels.csv:y", id="sample")
    assert list(tables.X.index) == ["a", "c", "d"]
    assert tables.X.loc["a", "clinical__age"] == 50


def test_a_target_of_a_modality(study):
    tables = read_views(["study.h5mu"], target="batch")
    assert tables.y.to_dict() == {"a": 1, "b": 2, "c": 1, "d": 2}


def test_a_single_modality(study):
    tables = read_views({"expression": "rna.h5ad"}, target="batch", id="code")
    assert list(tables.X.columns) == ["expression__TP53", "expression__MYC", "expression__EGFR"]
    assert list(tables.X.index) == ["A1", "B2", "C3", "D4"]
    assert list(read_views(["rna.h5ad"]).X.index) == list("abcd")


def test_names_of_modalities_in_a_named_file(study):
    assert list(read_views({"v1": "study.h5mu"}).matched_by.index) == ["v1_rna", "v1_protein"]


def test_a_missing_target(study):
    with pytest.raises(ValueError, match=r"study.h5mu has no column 'diagnose' .*did you mean 'diagnosis'\?"):
        read_views(["study.h5mu"], target="study.h5mu:diagnose")


def test_what_is_no_mudata(write):
    pytest.importorskip("mudata")
    write({"a.h5mu": "id,a\n"})
    with pytest.raises(ValueError, match="a.h5mu cannot be read as h5mu"):
        read_views(["a.h5mu"])
