"""Messages of the library in the words of the command line."""

import re
import warnings

import numpy as np
import pytest

from kernelweave import read_views
from kernelweave.cli.messages import in_options

PARAMETERS = re.compile(r"\b(id|sep|target|encoding|decimal|paths|keep_columns)=|mapping")


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        ({"a": "s,x\np,1\nq,2\n"}, {"id": "t"}, "or write --id FILE=COLUMN"),
        (
            {"a": "sample,x\np,1\nq,2\n"},
            {"id": "smple"},
            "did you mean 'sample'? Where tables differ in that, write --id",
        ),
        ({"a": "s,x\np,1\nq,2\n"}, {"target": "a.csv:z"}, "--target FILE:COLUMN with a column that is there"),
        ({"a": b"s,x\np,\xe9\nq,2\n"}, {}, "such as --encoding cp1252 (Western Windows) or --encoding latin-1"),
        ({"a": "s,x\np,1\np,2\n", "b": "s,y\np,1\nq,2\n"}, {}, "--id"),
        ({"a": "x\n1\n2\n", "b": "y\n1\n2\n3\n"}, {}, "pass its name as --id"),
        (
            {"a": "s,x\np,1\n", "b": "s,y\np,1\nq,2\n"},
            {"id": False},
            "without sample ids rows are matched by their order",
        ),
        ({"a": "s,x,y\np,1,2\nq,2\n"}, {}, "pass the separator as --sep"),
        ({"a": "s,x\np,1\nq,2\n", "b": "s,x\np,1\nq,2\n"}, {"target": "x"}, "--target"),
    ],
)
def test_errors_name_options(files, options, message, tmp_path):
    write(tmp_path, **files)
    with pytest.raises(ValueError) as error:
        read_views(sorted(tmp_path.glob("*.csv")), **options)
    assert PARAMETERS.search(str(error.value))  # what is translated
    text = in_options(str(error.value))
    assert message in text and not PARAMETERS.search(text)


def test_warnings_name_options(tmp_path):
    numbers = np.arange(9)
    lines = {
        name: "\n".join(f"{number},{number % 2}" for number in order)
        for name, order in (("a", numbers), ("b", numbers[::-1]))
    }
    write(tmp_path, a=f"first nr,x\n{lines['a']}\n", b=f"nr,y\n{lines['b']}\n")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        read_views(sorted(tmp_path.glob("*.csv")))
    texts = [in_options(str(warning.message)) for warning in found]
    (text,) = [text for text in texts if "different orders" in text]
    assert 'if these are ids pass --id "a=first nr" --id b=nr, and --id none if they are not' in text


def test_odd_cells(tmp_path):
    cells = [*map(str, range(40)), "n.d."]
    write(tmp_path, a="s,x\n" + "".join(f"p{place},{cell}\n" for place, cell in enumerate(cells)))
    with pytest.warns(UserWarning, match="n.d.") as found:
        read_views([tmp_path / "a.csv"])
    end = "correct the cell, or write --na-values n.d. if it means that the value is missing"
    assert in_options(str(found[0].message)).endswith(end)


def test_folders_and_names():
    assert in_options("x is a folder; give its files, such as paths=sorted(Path('x').glob('*.csv'))").endswith(
        "as NAME=FILE"
    )
    assert in_options("give them names, such as paths={'a-1': 'x', 'a-2': 'y'}") == "give them names, such as NAME=FILE"


def test_other_texts_stay():
    for text in ("the id 'p' stands in line 2", "C=10 and p=2", "decide=no", "the column 'id' is empty; id: none"):
        assert in_options(text) == text
