"""The tool that runs tests with other BLAS kernels: which it chooses, and that the setting has to take effect."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("blas_kernels", ROOT / "tools" / "blas_kernels.py")
blas_kernels = sys.modules["blas_kernels"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(blas_kernels)

NEW = "flags\t\t: fpu pni avx2 fma avx512f avx512bw avx512dq avx512vl avx512cd\n"


@pytest.fixture
def processor(tmp_path, monkeypatch):
    """A processor with some flags, whose OpenBLAS serves each core type by given kernels; what was run is listed."""
    runs = []

    def of(flags, served, usual="SkylakeX"):
        path = tmp_path / "cpuinfo"
        path.write_text(flags)
        monkeypatch.setattr(blas_kernels, "CPUINFO", path)
        found = {None: usual, **served}
        monkeypatch.setattr(blas_kernels, "architectures", lambda core: (found[core],) * 2 if found[core] else ())
        monkeypatch.setattr(blas_kernels, "status_of", lambda core, threads, options: runs.append((core, threads)) or 0)
        return runs

    return of


SERVED = {"Prescott": "Katmai", "Haswell": "Haswell", "SkylakeX": "SkylakeX", "Zen": "Haswell"}


def test_each_set_of_kernels_is_run_once_with_each_number_of_threads(processor, capsys):
    runs = processor(NEW, SERVED)
    assert blas_kernels.main([]) == 0
    assert runs == [(core, threads) for core in ("Prescott", "Haswell", "SkylakeX") for threads in (1, 2)]
    assert "Zen: the same kernels as Haswell here" in capsys.readouterr().out


@pytest.mark.parametrize(("usual", "other"), [("SkylakeX", "Haswell"), ("Haswell", "SkylakeX")])
def test_one_that_differs_from_other_runs(processor, usual, other):
    runs = processor(NEW, SERVED, usual)
    assert blas_kernels.main(["--one"]) == 0 and runs == [(other, 1)]


def test_a_processor_that_has_some_of_them(processor, capsys):
    runs = processor("flags : pni avx2 fma\n", SERVED, "Haswell")
    assert blas_kernels.main(["--one"]) == 0 and runs == [("Prescott", 1)]
    assert "SkylakeX" in capsys.readouterr().out


@pytest.mark.parametrize(("flags", "served"), [("Features : asimd\n", SERVED), (NEW, dict.fromkeys(SERVED))])
def test_another_processor_or_another_blas_runs_the_tests_as_they_are(processor, flags, served):
    runs = processor(flags, served, None)
    assert blas_kernels.main(["--one"]) == 0 and runs == [(None, 1)]


def test_a_setting_without_effect_is_an_error(processor):
    processor(NEW, {**SERVED, "Prescott": "SkylakeX"})
    with pytest.raises(SystemExit, match="OPENBLAS_CORETYPE=Prescott has no effect: .* SkylakeX"):
        blas_kernels.main([])


def test_the_tests_are_there():
    assert all((ROOT / each).exists() for each in (*blas_kernels.NUMERICAL, *blas_kernels.QUICK))
