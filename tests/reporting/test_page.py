"""The page as text: self-contained, small, escaped; saved as a whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import zipfile
from functools import cache
from html.parser import HTMLParser

import pytest

from kernelweave.reporting.content import Code, Column, Contents, Dot, Dots, Scatter, Section, Table, Text
from kernelweave.reporting.page import Report
from reporting.pages import NASTY, large, nasty, usual


class Reader(HTMLParser):
    """Tags with their attributes, and all texts."""

    def __init__(self, html: str):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts = [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.texts.append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


@cache
def page_of(make) -> str:
    return Report(make()).to_html()


def small(*blocks, **given) -> Contents:
    given = {"title": "t", "headline": ["h"]} | given
    return Contents(sections=[Section(id="a", title="A", blocks=list(blocks))], **given)


@pytest.mark.parametrize("make", [usual, nasty, large])
def test_the_page_is_below_a_megabyte_and_self_contained(make):
    html = page_of(make)
    assert len(html.encode()) < 1_000_000
    for tag, attributes in Reader(html).tags:
        assert tag not in ("img", "iframe", "object", "embed", "base", "form", "audio", "video", "image", "use")
        assert "src" not in attributes and "srcset" not in attributes and "style" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        assert re.fullmatch(r"#[\w-]+|data:,", attributes.get("href", "#a"))


def test_the_policy_allows_its_own_script_and_styles_only():
    html = page_of(usual)
    policy = next(a["content"] for t, a in Reader(html).tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy and "unsafe" not in policy
    sources = re.findall(r"<(?:script|style)>(.*?)</(?:script|style)>", html, re.DOTALL)
    assert len(sources) == 3
    for source in sources:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'" in policy


def test_names_are_escaped_everywhere():
    plain, hostile = (Reader(page_of(make)) for make in (usual, nasty))
    assert hostile.count("script") == 1
    for tag in ("template", "style", "section", "figure", "h2", "h3", "table", "title", "a"):
        assert hostile.count(tag) == plain.count(tag) > 0, tag
    text = "".join(hostile.texts)
    for name in NASTY[:5]:
        assert name in text
    assert "{{ 7 * 7 }}" in text
    fragment = Reader(Report(nasty())._repr_html_())
    assert fragment.count("script") == 1 and fragment.count("img") == 0


def test_a_long_table_is_cut_and_says_so():
    table = Table(
        title="Long", columns=[Column("a"), Column("b", "count")], rows=[[f"row {i}", i] for i in range(5000)]
    )
    html = Report(small(table)).to_html()
    assert "300 of 5,000 rows are shown; report.json has all of them." in html
    assert html.count("<tr>") == 301
    assert len(json.loads(Report(small(table)).to_json())["sections"][0]["blocks"][0]["rows"]) == 5000


def test_rows_that_stand_out_are_shown_even_far_down():
    table = Table(title="t", columns=[Column("a")], rows=[[f"row {i}"] for i in range(1000)], marked=[777])
    assert "row 777" in Report(small(table)).to_html()


def test_detail_gives_way_where_the_page_would_be_too_large():
    count = 2000
    values = [math.sin(i) for i in range(count)]
    label = [f"{'sample with a very long name ' * 6}{i}" for i in range(count)]
    charts = [
        Scatter(title=f"c{k}", description="", x=values, y=values[::-1], group=[0] * count, groups=["g"], label=label)
        for k in range(3)
    ]
    html = Report(small(*charts)).to_html()
    assert len(html.encode()) < 1_000_000
    assert re.search(r"\d+ of 2,000 points are drawn", html)


def test_cells_are_written_and_sorted_by_their_kind():
    columns = [Column("a"), Column("b", "percent", "share")]
    html = Report(
        small(Table(title="t", columns=columns, rows=[["x", 0.9531], ["y", None], ["z", math.nan]]))
    ).to_html()
    assert re.search(r'<td class="n" data-v="0.9531">95.3\xa0%</td>', html)
    assert html.count('<td class="n" data-v="">–</td>') == 2
    assert "<b>b</b>: share" in html


def test_no_line_ends_before_a_per_cent_sign():
    """In texts, cells, notes, keys and pictures; texts for programs, and Markdown, keep a plain blank."""
    dots = Dots(title="80.5 % of", description="Up to 91.2 %.", axis="share", kind="percent", dots=[Dot("a 5 %", 0.5)])
    table = Table(title="70 %", columns=[Column("9 %", "percent", "in 95 %")], rows=[[0.123]], note="Of 12 %.")
    contents = Contents(
        title="t 1 %",
        headline=["Right for 97.1 % of 100."],
        sections=[Section(id="s", title="3 %", blocks=[Text(text="80.0 % of all, and 20 %"), dots, table])],
    )
    page = Report(contents)
    for html in (page.to_html(), page._repr_html_()):
        shown = re.sub(r"<(style|script)\b.*?</\1>", "", html, flags=re.DOTALL)
        assert not re.search(r"\d\s?%", shown.replace("\xa0", "_"))
        assert "97.1\xa0% of 100" in shown and "80.5\xa0% of" in shown and "12.3\xa0%" in shown
    assert "97.1 % of 100" in page.to_markdown() and "97.1 % of 100" in page.to_json()


def test_code_keeps_its_lines():
    text = "first\n\n\n  second <b>"
    assert "<code>first\n\n\n  second &lt;b&gt;</code>" in Report(small(Code(text=text))).to_html()


def test_an_empty_report_is_a_page():
    html = Report(Contents(title="", headline=[], sections=[])).to_html()
    assert Reader(html).count("section") == 0
    assert "<h1>Report</h1>" in html
    empty = Scatter(title="Nothing", description="", x=[], y=[], group=[], groups=[], label=[])
    assert "There are no numbers to draw." in Report(small(empty, Table(title="", columns=[], rows=[]))).to_html()


def test_an_odd_section_id_becomes_a_plain_one():
    contents = Contents(title="t", headline=[], sections=[Section(id='x" y', title="X", blocks=[])])
    assert 'id="section-1"' in Report(contents).to_html()


@pytest.mark.parametrize("name", ["report.html", "report.HTML", "report.json", "report.md"])
def test_save_writes_by_suffix(tmp_path, name):
    report = Report(nasty())
    report.save(tmp_path / name)
    report.save(str(tmp_path / name))  # again, over the old file
    text = (tmp_path / name).read_text(encoding="utf-8")
    kind = name.lower().split(".")[1]
    assert text == {"html": report.to_html, "json": report.to_json, "md": report.to_markdown}[kind]()
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["report.pdf", "report", "report.html.gz", ".html"])
def test_another_suffix_is_refused_and_nothing_written(tmp_path, name):
    with pytest.raises(ValueError, match=r"saved as .html, .json or .md"):
        Report(usual()).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_report_that_cannot_be_drawn_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    Report(usual()).save(path)
    before = path.read_bytes()
    monkeypatch.setattr(Report, "to_html", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Report(usual()).save(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("make", [usual, nasty])
def test_a_saved_report_is_loaded_and_drawn_the_same(tmp_path, make):
    report = Report(make())
    report.save(tmp_path / "report.json")
    loaded = Report.load(tmp_path / "report.json")
    assert loaded.to_html() == page_of(make)
    assert loaded.to_markdown() == report.to_markdown()
    assert loaded.data == report.data == report.contents.data


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"format": 1}', b"\xff\xfe", b"[" * 100_000, b"null"])
def test_a_damaged_file_is_one_clear_error(tmp_path, content):
    path = tmp_path / "report.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"report.json' cannot be read as a report: ") as caught:
        Report.load(path)
    assert "\n" not in str(caught.value)


def test_a_zip_is_no_report(tmp_path):
    with zipfile.ZipFile(tmp_path / "model.kw", "w") as file:
        file.writestr("a", "b")
    with pytest.raises(ValueError, match="cannot be read as a report"):
        Report.load(tmp_path / "model.kw")


def test_the_notebook_has_a_message_for_where_scripts_do_not_run():
    html = Report(small(Text(text="a"), title="Digits & more", headline=["Use <b>."]))._repr_html_()
    outside = html.split("<template>")[0]
    assert "Digits &amp; more" in outside and "Use &lt;b&gt;." in outside
    assert "report.save" in outside
    assert "<main" not in html and "<!doctype" not in html


def test_repr_is_short():
    assert repr(Report(usual())) == "Report('Handwritten digits, six views', 8 sections)"
