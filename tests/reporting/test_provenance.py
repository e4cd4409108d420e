"""How a report was made: in its data, on its page and in Markdown; checksums; what reports and models may not hold."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shlex
from datetime import UTC, datetime
from types import SimpleNamespace

import numpy as np
import pytest

import kernelweave
from kernelweave import MKLClassifier
from kernelweave.kernels import Linear
from kernelweave.recipes import CohortModel
from kernelweave.reporting.content import Contents, Input, ModelRecord, Provenance
from kernelweave.reporting.page import Report
from kernelweave.reporting.provenance import (
    command_line,
    data_input,
    file_input,
    folder_input,
    how_it_was_made,
    keep_record,
    record_of,
    versions,
)
from reported import cohort, report

KEYS = {"date", "command", "seed", "inputs", "model"}
INPUT_KEYS = {"name", "what", "kind", "sha256", "bytes", "rows"}


def made(**given) -> Contents:
    given = {"date": "2026-02-03T14:05:06+02:00"} | given
    return Contents(title="t", headline=[], sections=[], versions=versions(), provenance=Provenance(**given))


def test_the_checksum_is_that_of_the_bytes_and_one_byte_changes_it(tmp_path):
    content = np.random.default_rng(0).bytes(3_000_001)  # more than is read at a time
    file = tmp_path / "rna.npy"
    file.write_bytes(content)
    first = file_input(file, "view rna", 7)
    assert first.sha256 == hashlib.sha256(content).hexdigest()
    assert (first.name, first.what, first.kind, first.bytes, first.rows) == ("rna.npy", "view rna", "file", 3000001, 7)
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert file_input(file, "view rna", 7).sha256 != first.sha256


def test_the_checksum_of_a_folder_is_that_of_what_sha256sum_prints(tmp_path):
    parts = [tmp_path / name for name in ("part-2.npy", "part-10.npy")]
    for part in parts:
        part.write_bytes(part.name.encode())
    lines = "".join(f"{hashlib.sha256(part.read_bytes()).hexdigest()}  {part.name}\n" for part in parts)
    found = folder_input(tmp_path, parts, "view rna", 5)
    assert found.sha256 == hashlib.sha256(lines.encode()).hexdigest()
    assert found.kind == "folder" and found.bytes == 21 and found.name == tmp_path.name
    assert folder_input(tmp_path, parts[::-1], "view rna").sha256 != found.sha256


@pytest.mark.parametrize(
    "words", [["compare", "my data.csv"], ["it's", 'a "b"', "a\nb", "$HOME", "--na-values", "", "naïve|x;y"]]
)
def test_a_command_can_be_pasted(words):
    assert shlex.split(command_line(words)) == ["kernelweave", *words]


def test_on_windows_paths_stay_as_they_were_typed(monkeypatch):
    monkeypatch.setattr("kernelweave.reporting.provenance.os", SimpleNamespace(name="nt"))
    words = ["fit", r"C:\data\rna.csv", r"my data\x.csv"]
    assert command_line(words) == r'kernelweave fit C:\data\rna.csv "my data\x.csv"'


def test_the_last_section_of_page_and_markdown_states_everything():
    inputs = [Input(name="<b>|`x`\n.csv", what="view rna", sha256=64 * "c", bytes=1234, rows=200)]
    contents = made(command="kernelweave compare '<b> 5 % x.csv'", seed=17, inputs=inputs)
    html, text = Report(contents).to_html(), Report(contents).to_markdown()
    for found in (html, text):
        assert "How this was made" in found and "2026-02-03 12:05 UTC" in found and "Random seed: 17." in found
        for name, number in versions().items():
            assert f"{name} {number}" in found
        assert 64 * "c" in found and "1,234" in found and "200" in found and "view rna" in found
    assert "kernelweave compare &#39;&lt;b&gt; 5 % x.csv&#39;" in html and "<b> 5" not in html and "<b>|" not in html
    assert "\nkernelweave compare '<b> 5 % x.csv'\n```" in text
    assert r"&lt;b&gt;\|\`x\` .csv" in text
    assert html.index("How this was made") < html.index('class="quiet"')  # in the list of contents, and last


def test_a_checksum_is_whole_on_a_page_that_leaves_much_out():
    inputs = [Input(name=f"{place}.csv", what="view", sha256=f"{place:064d}") for place in range(40)]
    long = "very long " * 100_000
    contents = dataclasses.replace(made(inputs=inputs), headline=[long])
    page = Report(contents).to_html()
    assert len(page) > 1_000_000  # so that nothing else is shown in full
    assert all(one.sha256 in page for one in inputs)


def test_a_report_from_python_has_digests_of_its_data():
    X, y = cohort()
    model = MKLClassifier([Linear("rna"), Linear("protein")], random_state=3).fit(X, y)
    contents = report(model, X, y, random_state=5)
    plain = json.loads(json.dumps(contents.to_plain()))["provenance"]
    assert set(plain) == KEYS and all(set(one) == INPUT_KEYS for one in plain["inputs"])
    assert plain["command"] is None and plain["seed"] == 5
    assert plain["model"] == {"version": "", "seed": 3, "inputs": []}
    age = datetime.now(UTC) - datetime.fromisoformat(plain["date"])
    assert 0 <= age.total_seconds() < 600
    assert [(one["name"], one["kind"], one["rows"], one["bytes"]) for one in plain["inputs"]] == [
        ("X", "data", 60, None),
        ("y", "data", 60, None),
    ]
    text = Report(contents).to_markdown()
    assert "it was made from Python" in text and plain["inputs"][0]["sha256"] in text
    again = report(model, X.copy(), list(y), random_state=5).provenance
    assert again.inputs == contents.provenance.inputs
    order = [1, 0, *range(2, 60)]
    turned = report(model, X.iloc[order], y[order], random_state=5).provenance
    assert [a.sha256 == b.sha256 for a, b in zip(turned.inputs, again.inputs, strict=True)] == [False, False]


def test_seeds_that_are_no_numbers():
    X, y = cohort()
    model = MKLClassifier([Linear("rna")]).fit(X, y)
    assert report(model, X, y, random_state=np.int64(3)).provenance.seed == 3
    assert report(model, X, y, random_state=None).provenance.seed is None
    assert report(model, X, y, random_state=np.random.RandomState(0)).provenance.seed == "a RandomState"


def test_reports_of_earlier_versions_say_that_nothing_was_recorded():
    plain = {"format": 1, "title": "t", "headline": [], "sections": [], "versions": {"kernelweave": "0.2.0"}}
    contents = Contents.from_plain(plain)
    assert contents.provenance is None
    for text in (Report(contents).to_html(), Report(contents).to_markdown()):
        assert "Made with kernelweave 0.2.0. Command, seed and inputs were not recorded." in text
    assert how_it_was_made(Contents(title="t", headline=[], sections=[])) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda made: made.pop("date"), "report.provenance lacks the field 'date'"),
        (lambda made: made.update(seed=0.5), r"report.provenance.seed is 0.5"),
        (lambda made: made.update(inputs="rna.csv"), "report.provenance.inputs is 'rna.csv', not a list"),
        (lambda made: made["inputs"][0].update(bytes=-1), r"inputs\[0\]: bytes cannot be -1"),
        (lambda made: made["inputs"][0].update(rows=10**400), r"inputs\[0\]: rows cannot be 1000"),
        (lambda made: made.update(model=[]), "report.provenance.model is a list, not an object"),
    ],
)
def test_a_damaged_record_is_refused_in_one_sentence(change, message):
    plain = made(inputs=[Input(name="a", what="b", sha256="c")]).to_plain()
    change(plain["provenance"])
    with pytest.raises(ValueError, match=message):
        Contents.from_plain(plain)


def test_a_date_that_is_none_is_shown_as_it_is():
    contents = made(date="<yesterday>")
    assert "Made on &lt;yesterday&gt; with" in Report(contents).to_html()


def test_a_model_keeps_its_record_in_its_file_and_loses_it_with_another_fit(tmp_path):
    X, y = cohort()
    model = CohortModel("linear", effort="quick", random_state=4).fit(X, y)
    assert record_of(model) == ModelRecord(seed=4)
    inputs = [Input(name="rna.csv", what="view rna", sha256=64 * "d", bytes=3, rows=60)]
    keep_record(model, 4, inputs)
    kernelweave.save(model, tmp_path / "m.kw")
    loaded = kernelweave.load(tmp_path / "m.kw")
    record = ModelRecord(version=kernelweave.__version__, seed=4, inputs=inputs)
    assert record_of(loaded) == record == report(loaded, X, y).provenance.model
    text = Report(report(loaded, X, y)).to_markdown()
    assert f"The model was fitted by kernelweave {kernelweave.__version__}" in text and 64 * "d" in text
    assert record_of(loaded.fit(X, y)) == ModelRecord(seed=4)


@pytest.mark.parametrize("record", ["text", 3, [1], {"inputs": [{"name": 3}]}, {"version": "1", "other": 2}])
def test_a_record_that_is_none_counts_as_none(record, tmp_path):
    X, y = cohort()
    model = CohortModel("linear", effort="quick", random_state=4).fit(X, y)
    model.record_ = record
    kernelweave.save(model, tmp_path / "m.kw")
    assert record_of(kernelweave.load(tmp_path / "m.kw")) == ModelRecord(seed=4)


def test_data_that_are_lists():
    assert data_input("y", "target", [1, 2, 3]).rows == 3
