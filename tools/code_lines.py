"""Count the lines of code and of docstrings of each package, and its modules.

python tools/code_lines.py                                # src/kernelweave
python tools/code_lines.py /tmp/before/src/kernelweave    # another tree

Blank lines, comments on lines of their own, imports and docstrings do not count. A package is counted without the
packages in it; modules are all files, `__init__.py` included.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1] / "src" / "kernelweave"
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(source: str) -> tuple[int, int]:
    r"""The numbers of lines of code and of docstrings of a module.

    >>> code_lines('"Title."\nimport os\n\n# why\nx = [  # what\n    1,\n\n]\n')
    (3, 1)
    """
    n_docstrings = 0
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {line for token in tokens if token.type not in NO_CODE for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node = node.body[0]
            n_docstrings += node.end_lineno - node.lineno + 1
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        lines.difference_update(range(node.lineno, node.end_lineno + 1))
    text = source.split("\n")
    return sum(bool(text[line - 1].strip()) for line in lines), n_docstrings


def main(root: Path) -> None:
    """Print the lines and the modules of each package, and of all."""
    lines, docstrings, modules = Counter(), Counter(), Counter()
    for path in sorted(root.rglob("*.py")):
        own, documented = code_lines(path.read_text(encoding="utf-8"))
        for name in (path.parent.relative_to(root.parent).as_posix(), "in all"):
            lines[name] += own
            docstrings[name] += documented
            modules[name] += 1
    print(f"{'package':44}{'lines':>8}{'docstrings':>12}{'modules':>9}")
    for name in [*sorted(lines.keys() - {"in all"}), "in all"]:
        print(f"{name:44}{lines[name]:8}{docstrings[name]:12}{modules[name]:9}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
