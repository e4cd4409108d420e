"""Break single lines of the library, and see whether the tests notice.

python tools/mutants.py draw before/src/kernelweave --out mutants.json            # by a seed, over all modules
python tools/mutants.py cover . --out after.coverage                               # which test passes which line
python tools/mutants.py run . mutants.json --cover after.coverage --out after.json
python tools/mutants.py cover before --out before.coverage
python tools/mutants.py run before mutants.json --cover before.coverage --left after.json --out before.json

A mutant is one changed token of one statement: another comparison, operator or constant, a condition negated, a
statement left out. It is written down by the function and the text of its statement, not by its line, so that the same
mutants can be made in a tree in which code has moved; what is not found there is reported as "gone". `run` runs the
tests that pass the line, the long ones too, until one fails; lines that no test is seen to pass (module level, compiled
code) are tried with all tests, those of the same package first. ``--left`` runs the mutants that an earlier run left
alive: for what the tests of an older tree kill of them, a test was lost. The library and the experiments beside it,
where a tree has them there, are looked through.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

SEED, COUNT, LIMIT = 29, 150, 900  # of the draw, mutants, seconds until a run counts as killed
FEW = 40  # tests of the same package that are run first
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "filterwarnings="]
OTHER = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq},
    **{ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult},
}
CODE = ("src/kernelweave", "experiments")
HEADS = {ast.If: "test", ast.While: "test", ast.For: "iter"}  # what of a compound statement is mutated


class Place(NamedTuple):
    """A statement: the names around it, its text (of a compound one, of its head), and where it is."""

    owner: str
    text: str
    path: Path
    statement: ast.stmt


def places(root: Path) -> Iterator[Place]:
    """All statements below a folder that can be mutated."""
    for path in sorted(root.rglob("*.py")):
        yield from _places(ast.parse(path.read_text(encoding="utf-8")), "", path)


def _places(node: ast.AST, owner: str, path: Path) -> Iterator[Place]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield from _places(child, f"{owner}.{child.name}".strip("."), path)
            continue
        if isinstance(child, ast.stmt):
            head = HEADS.get(type(child))
            simple = isinstance(child, ast.Assign | ast.AugAssign | ast.Return | ast.Expr | ast.Raise)
            docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if head or (simple and not docstring):
                yield Place(owner, ast.unparse(getattr(child, head) if head else child), path, child)
        yield from _places(child, owner, path)


def changes(place: Place) -> list[str]:
    """The texts that the statement, or its head, can be changed into."""
    head = HEADS.get(type(place.statement))
    tree = getattr(place.statement, head) if head else place.statement
    found = [f"not ({place.text})"] if head == "test" else []
    if isinstance(tree, ast.AugAssign) or (isinstance(tree, ast.Expr) and isinstance(tree.value, ast.Call)):
        found.append("pass")
    for number, node in enumerate(ast.walk(tree)):
        for field in ("op", "ops", "value"):
            old = getattr(node, field, None)
            old = old[0] if isinstance(old, list) and old else old
            whole = isinstance(node, ast.Constant) and isinstance(old, int) and not isinstance(old, bool)
            if not (whole or (field != "value" and type(old) in OTHER)):
                continue
            changed = copy.deepcopy(tree)
            target: Any = list(ast.walk(changed))[number]
            if field == "ops":
                target.ops[0] = OTHER[type(old)]()
            else:
                setattr(target, field, old + 1 if whole else OTHER[type(old)]())
            found.append(ast.unparse(changed))
    return [text for text in found if text != place.text]


def draw(root: Path, seed: int, count: int) -> list[dict[str, str]]:
    """Mutants of different statements, drawn with a seed."""
    pool = [(place, texts) for place in places(root) if (texts := changes(place))]
    generator = random.Random(seed)
    chosen = generator.sample(pool, count)
    return [
        {
            "module": place.path.relative_to(root).as_posix(),
            "line": place.statement.lineno,
            "owner": place.owner,
            "text": place.text,
            "changed": generator.choice(texts),
        }
        for place, texts in chosen
    ]


def locate(mutant: dict[str, Any], found: list[Place], root: Path) -> Place | None:
    """The statement of a mutant: the same text in the function of the same name, in the most alike module."""
    same = [place for place in found if place.text == mutant["text"]]
    name = mutant["owner"].rpartition(".")[2]
    for alike in (
        [p for p in same if p.owner == mutant["owner"] and p.path == root / mutant["module"]],
        [p for p in same if p.owner == mutant["owner"]],
        [p for p in same if p.owner.rpartition(".")[2] == name],
        same if len(same) == 1 else [],
    ):
        if alike:
            return min(alike, key=lambda p: abs(p.statement.lineno - mutant["line"]))
    return None


def mutated(place: Place, changed: str) -> str:
    """The text of the module with the statement changed."""
    head = HEADS.get(type(place.statement))
    node = getattr(place.statement, head) if head else place.statement
    lines = place.path.read_text(encoding="utf-8").encode().splitlines(keepends=True)
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
    return (before + (f"({changed})" if head else changed).encode() + after).decode()


def environment(tree: Path) -> dict[str, str]:
    """The variables of a run on a tree: its own sources, one thread of linear algebra."""
    return os.environ | {"PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def cover(tree: Path, out: Path) -> None:
    """Run all tests of a tree and write which of them pass which lines."""
    data = {"COVERAGE_FILE": str(out.resolve())}
    command = [*PYTEST, "-n", "2", "--dist", "worksteal", "--cov-context=test", "--cov-report="]
    command += [f"--cov={tree / folder}" for folder in CODE if (tree / folder).exists()]
    subprocess.run(command, cwd=tree, env=environment(tree) | data, check=False)


def tests_of(place: Place, data: Any, tree: Path) -> list[str]:
    """The tests that pass the statement; none where no test is seen to."""
    lines = data.contexts_by_lineno(str(place.path))
    passed = {context for context in lines.get(place.statement.lineno, []) if "::" in context}
    return sorted({context.rpartition("|")[0] for context in passed})


def attempts(place: Place, tests: list[str], tree: Path) -> list[list[str]]:
    """The arguments of one run of pytest after the other: first a few tests of the same package, which mostly do."""
    parts = place.path.relative_to(tree).parts
    package = parts[2] if parts[0] == "src" else parts[0]
    folders = (f"tests/{package}", f"src/kernelweave/{package}")
    if tests:
        own = [test for test in tests if test.startswith(folders)]
        few = own[:: max(1, len(own) // FEW)]
        return [some for some in (few, [test for test in tests if test not in few]) if some]
    own = [name for name in folders if (tree / name).exists()]
    return [own, ["tests", "src"]] if own else [["tests", "src"]]


@contextmanager
def compiled_anew(path: Path, tree: Path) -> Iterator[None]:
    """Leave what numba has kept of a module, and of all that import it, out of its cache for a while."""
    texts = {other: other.read_text(encoding="utf-8") for other in (tree / CODE[0]).rglob("*.py")}
    affected, last = {path}, 0
    while len(affected) > last:
        last = len(affected)
        names = {one.stem if one.stem != "__init__" else one.parent.name for one in affected}
        imports = re.compile(rf"^(from|import) .*\b({'|'.join(names)})\b", re.MULTILINE)
        affected |= {other for other, text in texts.items() if imports.search(text)}
    with tempfile.TemporaryDirectory() as aside:
        stamps = {one: one.stat() for one in affected}
        kept = [file for one in affected for file in (one.parent / "__pycache__").glob(f"{one.stem}.*.nb?")]
        for number, file in enumerate(kept):
            shutil.move(file, f"{aside}/{number}")
        yield
        for one in affected:
            for file in (one.parent / "__pycache__").glob(f"{one.stem}.*.nb?"):
                file.unlink()
            os.utime(one, ns=(stamps[one].st_atime_ns, stamps[one].st_mtime_ns))
        for number, file in enumerate(kept):
            shutil.move(f"{aside}/{number}", file)


def killer(arguments: list[str], tree: Path) -> str | None:
    """The first test that fails, if one does.

    Compiled functions that call a changed one would be taken from numba's cache as they were, so that a mutant among
    compiled code is compiled anew with all that may call it (`compiled_anew`).
    """
    listed = tree / ".mutant-tests"
    listed.write_text("\n".join(arguments))
    many = ["-n", "2", "--dist", "worksteal"] if len(arguments) > 60 or "::" not in arguments[0] else ["-n", "0"]
    command = [*PYTEST, "-x", "--tb=no", *many, "-m", "not device and not dask and not distribution", f"@{listed}"]
    try:
        run = subprocess.run(command, cwd=tree, env=environment(tree), capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return "timeout"
    finally:
        listed.unlink()
    if run.returncode in (0, 5):
        return None
    failed = [line for line in run.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0] if failed else f"status {run.returncode}"


def run(tree: Path, mutants: list[dict[str, Any]], data: Any, out: Path, only: set[int]) -> None:
    """Try the mutants one after another and write what killed each; begun runs go on where they stopped."""
    root = tree / CODE[0]
    found = [place for folder in CODE for place in places(tree / folder)]
    results: dict[str, str | None] = json.loads(out.read_text()) if out.exists() else {}
    for number, mutant in enumerate(mutants):
        if str(number) in results or number not in only:
            continue
        place = locate(mutant, found, root)
        if place is None:
            results[str(number)] = "gone"
        else:
            original = place.path.read_text(encoding="utf-8")
            with compiled_anew(place.path, tree) if "compiled import" in original else nullcontext():
                try:
                    place.path.write_text(mutated(place, mutant["changed"]), encoding="utf-8")
                    runs = attempts(place, tests_of(place, data, tree), tree)
                    results[str(number)] = next(filter(None, (killer(tests, tree) for tests in runs)), None)
                finally:
                    place.path.write_text(original, encoding="utf-8")
        out.write_text(json.dumps(results, indent=1))
        print(number, mutant["module"], mutant["text"][:60], "->", results[str(number)], flush=True)
    kinds = Counter("gone" if kind == "gone" else "killed" if kind else "survived" for kind in results.values())
    print(dict(kinds))
    for number, kind in results.items():
        if kind is None:
            print("survived:", json.dumps(mutants[int(number)]))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    drawing = commands.add_parser("draw")
    drawing.add_argument("root", type=Path)
    drawing.add_argument("--seed", type=int, default=SEED)
    drawing.add_argument("--count", type=int, default=COUNT)
    covering = commands.add_parser("cover")
    running = commands.add_parser("run")
    for command in (covering, running):
        command.add_argument("tree", type=Path)
    running.add_argument("mutants", type=Path)
    running.add_argument("--cover", type=Path, required=True)
    running.add_argument("--left", type=Path)
    for command in (drawing, covering, running):
        command.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    if given.command == "draw":
        given.out.write_text(json.dumps(draw(given.root, given.seed, given.count), indent=1))
    elif given.command == "cover":
        cover(given.tree.resolve(), given.out)
    else:
        import coverage

        data = coverage.CoverageData(basename=str(given.cover))
        data.read()
        mutants = json.loads(given.mutants.read_text())
        earlier = json.loads(given.left.read_text()) if given.left else dict.fromkeys(map(str, range(len(mutants))))
        only = {int(number) for number, kind in earlier.items() if kind in (None, "gone")}
        run(given.tree.resolve(), mutants, data, given.out, only)


if __name__ == "__main__":
    main()
