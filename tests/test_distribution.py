"""The sdist and the wheel: what is in them, and the wheel at work in an environment that has only its dependencies.

`make dist` builds both into the folder KERNELWEAVE_DIST and runs this file; without that folder its tests that read
them are skipped. What pyproject.toml says of versions is compared in every run.
"""

import os
import re
import shutil
import subprocess
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import kernelweave

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "kernelweave"
CONTENT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = CONTENT["project"]
CACHES = re.compile(r"__pycache__|\.py[co]$|\.nb[ic]$|_cache/|\.hypothesis")
LIMIT = 300  # seconds for each process; the first fit compiles

USE = """
import sys
from pathlib import Path

import kernelweave
from kernelweave import MKLClassifier, datasets, load, save
from kernelweave.combiners import ConvexMKL
from kernelweave.kernels import Gaussian, Linear

assert Path(kernelweave.__file__).is_relative_to(sys.prefix), kernelweave.__file__
X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
model = MKLClassifier([Linear("mor"), Gaussian("zer")], ConvexMKL()).fit(X[::10], y[::10])
save(model, "model.kw")
assert (load("model.kw").predict(X[1::10]) == model.predict(X[1::10])).all()
model.score(X[1::10], y[1::10]) > 0.8 or sys.exit("the fitted model is no good")
kernelweave.report(model, X[1::10], y[1::10]).save("report.html")
"""


@pytest.fixture(scope="module")
def folder() -> Path:
    if not os.environ.get("KERNELWEAVE_DIST"):
        pytest.skip("make dist builds the files and names their folder in KERNELWEAVE_DIST")
    return ROOT / os.environ["KERNELWEAVE_DIST"]


@pytest.fixture(scope="module")
def wheel(folder) -> Path:
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def sdist(folder) -> Path:
    (path,) = folder.glob("*.tar.gz")
    return path


@pytest.fixture(scope="module")
def members(wheel) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def unpacked(sdist, tmp_path_factory) -> Path:
    """The one folder that the sdist holds."""
    place = tmp_path_factory.mktemp("sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(place, filter="data")
    (inside,) = place.iterdir()
    return inside


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory) -> Path:
    """The interpreter of an empty environment with the wheel and, by a path, the packages of the running one.

    The wheel comes first: pip would otherwise find the running environment's Kernelweave and leave it at that.
    """
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=True)
    found = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    run([found, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel], place)
    home = run([found, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], place).strip()
    (Path(home) / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return found


def run(command, place: Path) -> str:
    """What a command prints, run in a folder without the paths of this process."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KERNELWEAVE"))}
    done = subprocess.run(
        list(map(str, command)), cwd=place, env=environment, capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files_below(folder: Path) -> set[str]:
    below = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return {path for path in below if not CACHES.search(path)}


@pytest.mark.distribution
def test_the_wheel_holds_the_package_its_license_and_nothing_else(members):
    own = {f"kernelweave/{path}" for path in files_below(SOURCE)}
    info = f"kernelweave-{kernelweave.__version__}.dist-info"
    about = {f"{info}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")}
    assert members == own | about


@pytest.mark.distribution
@pytest.mark.parametrize(
    "name",
    ["py.typed", "reporting/templates/document.html", "datasets/data/multifeat.npz", "datasets/data/LICENSE.md"],
)
def test_the_wheel_holds_what_is_not_python(members, name):
    assert f"kernelweave/{name}" in members


@pytest.mark.distribution
def test_the_wheel_holds_the_library_alone(members):
    assert {name.partition("/")[0].partition("-")[0] for name in members} == {"kernelweave"}


@pytest.fixture(scope="module")
def tracked() -> set[str]:
    """The files of the repository."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a checkout by git")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return set(listed.splitlines())


def test_the_sdist_names_what_the_repository_has(tracked):
    named = CONTENT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
    assert set(named) == {path.partition("/")[0] for path in tracked}


@pytest.mark.distribution
def test_the_sdist_holds_every_file_of_the_repository_and_no_other(unpacked, tracked):
    assert files_below(unpacked) - {"PKG-INFO"} == tracked


@pytest.mark.distribution
def test_the_sdist_holds_no_caches_and_no_data_but_the_embedded(unpacked):
    present = [path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*")]
    assert not [path for path in present if CACHES.search(path)]
    large = [path for path in present if (unpacked / path).is_file() and (unpacked / path).stat().st_size > 2**20]
    assert large == ["src/kernelweave/datasets/data/multifeat.npz"]


@pytest.mark.distribution
def test_both_state_the_license_as_an_expression_and_the_readme(members, wheel, unpacked):
    (name,) = [name for name in members if name.endswith(".dist-info/METADATA")]
    with zipfile.ZipFile(wheel) as archive:
        texts = [archive.read(name).decode(), (unpacked / "PKG-INFO").read_text(encoding="utf-8")]
    for text in texts:
        metadata = Parser().parsestr(text)
        assert (metadata["Name"], metadata["Version"]) == ("kernelweave", kernelweave.__version__)
        assert metadata["License-Expression"] == "BSD-3-Clause"
        assert metadata["Description-Content-Type"] == "text/markdown"
        assert metadata.get_payload().startswith("# Kernelweave")


@pytest.mark.distribution
def test_the_installed_wheel_works(python, tmp_path):
    command = python.parent / "kernelweave"
    assert run([command, "--version"], tmp_path).split()[-1] == kernelweave.__version__
    run([python, "-c", USE], tmp_path)
    assert (tmp_path / "report.html").stat().st_size > 10_000


@pytest.mark.distribution
@pytest.mark.parametrize(
    "wrong", ["", "\n\ndef wrong(model: MKLClassifier, X: Any) -> str:\n    return model.predict(X)\n"]
)
def test_a_script_with_types_is_checked_strictly_against_the_wheel(python, tmp_path, wrong):
    pytest.importorskip("mypy")
    script = (ROOT / "tests" / "user_script.py").read_text(encoding="utf-8") + wrong
    (tmp_path / "user_script.py").write_text(script, encoding="utf-8")
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = true\n")  # nothing is ignored, no other settings are read
    command = [
        python,
        "-m",
        "mypy",
        "--config-file",
        "mypy.ini",
        "--cache-dir",
        tmp_path.parent / "mypy",
        "user_script.py",
    ]
    if wrong:
        with pytest.raises(AssertionError, match="Incompatible return value type"):
            run(command, tmp_path)
    else:
        assert "Success: no issues found in 1 source file" in run(command, tmp_path)


@pytest.mark.distribution
def test_tests_of_the_sdist_run_against_the_installed_wheel(python, unpacked):
    chosen = ["test_readme.py", "test_environment.py", "house/test_contributing.py", "saving/test_versions.py"]
    command = [python, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-m", "not long"]
    printed = run([*command, *(f"tests/{name}" for name in chosen)], unpacked)
    assert " passed" in printed and " skipped" not in printed


def test_the_versions_of_python_are_those_that_the_readme_says_and_the_workflow_runs():
    declared = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"3\.\d+", re.search(r"tests were run on Linux with Python ([^;]*);", readme)[1]) == declared
    assert set(declared) <= set(re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", workflow)[1]))
    assert PROJECT["requires-python"] == f">={declared[0]}"


def test_the_changelog_has_a_section_for_this_version():
    sections = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sections[:2] == ["Unreleased", kernelweave.__version__]
