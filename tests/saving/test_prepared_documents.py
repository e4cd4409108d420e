"""What a file holds of the documents that a model was fitted to."""

import json
import zipfile

from sklearn.feature_extraction.text import TfidfVectorizer

from kernelweave import MKLClassifier, save, stack_views
from kernelweave.kernels import Linear
from saved_builders import TWO, WORDS, A, N


def test_files_hold_the_documents_of_support_vectors(tmp_path):
    """As `docs/saving.md` warns."""
    table = stack_views({"notes": [f"{word} came in on day {i}" for i, word in enumerate(WORDS[:N])], "rna": A})
    model = MKLClassifier([Linear("notes", transformer=TfidfVectorizer()), Linear("rna")]).fit(table, TWO)
    save(model, tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        text = archive.read("model.json").decode()
    kept = table["notes"].iloc[model.support_].dropna()
    assert all(document in repr(json.loads(text)) for document in kept)
    outside = stack_views({"notes": TfidfVectorizer().fit_transform(table["notes"].fillna("")), "rna": A})
    save(MKLClassifier([Linear("notes"), Linear("rna")]).fit(outside, TWO), tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        assert not any(document.encode() in archive.read(name) for name in archive.namelist() for document in kept)
