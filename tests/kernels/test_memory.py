"""How much memory is free, in containers too, and what users are told where it is too little."""

import numpy as np
import pytest

from kernelweave import KernelSAMME, KernelVoting, MKLClassifier
from kernelweave.combiners import ConvexMKL, KernelDifference, Localized, Mean, Projected
from kernelweave.estimators import SparseLargeMarginClassifier
from kernelweave.kernels import (
    Function,
    Gaussian,
    KernelMemoryError,
    KernelStack,
    Linear,
    MemoryWarning,
    Precomputed,
    stack,
)
from kernelweave.kernels import resources as memory
from kernelweave.reduction import MKLDR, KernelFisher, LDEGraph, LocalFisher

GIB = 2**30
A = np.random.default_rng(0).normal(size=(40, 3))
LABELS = np.arange(40) % 3
TWO = A[:, 0] > 0


@pytest.fixture(autouse=True)
def nothing_is_too_small(monkeypatch):
    """Also the few samples here are compared with the free memory."""
    monkeypatch.setattr(stack, "SMALL_BYTES", 0)


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A machine with 8 GiB available; returns a function that writes its files."""

    def write(files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)

    monkeypatch.setattr(memory, "_PROCESSES", tmp_path / "proc")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "groups")
    write({"proc/meminfo": f"MemTotal: {16 * 2**20} kB\nMemAvailable: {8 * 2**20} kB\n"})
    return write


def group(limit, used, cached=0, name="memory"):
    """The files of a control group of version 2."""
    return {
        f"groups/{name}.max": f"{limit}\n",
        f"groups/{name}.current": f"{used}\n",
        f"groups/{name}.stat": f"anon 1\nfile 7\ninactive_file {cached}\n",
    }


def test_without_containers(system):
    assert memory.available_memory() == 8 * GIB
    system({"proc/self/cgroup": "0::/user.slice\n"} | group("max", 3 * GIB, name="user.slice/memory"))
    assert memory.available_memory() == 8 * GIB
    system({"proc/meminfo": "MemTotal: 7 kB\n"})
    assert memory.available_memory() > 2**20  # physical memory


def test_version_2_inside_a_container(system):
    """The container's group is the root of what it sees."""
    system({"proc/self/cgroup": "0::/\n"} | group(4 * GIB, 3 * GIB))
    assert memory.available_memory() == 1 * GIB
    system(group(4 * GIB, 3 * GIB, cached=2 * GIB))  # files that are only cached can go
    assert memory.available_memory() == 3 * GIB
    system(group(4 * GIB, 5 * GIB))
    assert memory.available_memory() == 0
    system(group(100 * GIB, 1 * GIB))
    assert memory.available_memory() == 8 * GIB


def test_version_2_limits_of_outer_groups_count(system):
    system({"proc/self/cgroup": "0::/a/b\n"})
    system(group("max", GIB, name="a/b/memory") | group(3 * GIB, GIB, name="a/memory"))
    assert memory.available_memory() == 2 * GIB
    system(group(2 * GIB, GIB, name="a/b/memory"))
    assert memory.available_memory() == 1 * GIB


@pytest.mark.parametrize("seen", ["docker/1f", ""])
def test_version_1(system, seen):
    """Outside, the group has its path; inside of the container, it is the root."""
    folder = "/".join(part for part in ("groups/memory", seen) if part)
    system(
        {
            "proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/1f\n1:name=systemd:/x\n",
            f"{folder}/memory.limit_in_bytes": f"{5 * GIB}\n",
            f"{folder}/memory.usage_in_bytes": f"{4 * GIB}\n",
            f"{folder}/memory.stat": f"inactive_file 1\ntotal_inactive_file {GIB}\n",
        }
    )
    assert memory.available_memory() == 2 * GIB
    system({f"{folder}/memory.limit_in_bytes": "9223372036854771712\n"})  # what no limit looks like
    assert memory.available_memory() == 8 * GIB


WITHOUT = 'storage="lazy" or approximation="nystroem"'


def told(warnings):
    (message,) = [str(entry.message) for entry in warnings if entry.category is MemoryWarning]
    return message


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        (MKLClassifier([Linear(), Gaussian()], Mean()), f'use {WITHOUT} or fewer samples or dtype="float32"'),
        (MKLClassifier([Linear(), Gaussian()], Mean(), dtype="float32"), f"use {WITHOUT} or fewer samples"),
        (
            MKLClassifier([Linear(), Gaussian()], Mean(), machine="least-squares"),
            f'use {WITHOUT} or fewer samples or dtype="float32"',
        ),
        (MKLClassifier([Linear(), Gaussian()], KernelDifference()), 'use fewer samples or dtype="float32"'),
        (MKLDR([Linear(), Gaussian()], n_components=1), 'use fewer samples or fewer kernels or dtype="float32"'),
        (KernelVoting([Linear(), Gaussian()]), "use fewer samples"),
        (KernelVoting([Linear(), Gaussian()], LDEGraph()), "use fewer samples"),
        (KernelSAMME([Linear(), Gaussian()], random_state=0), "use fewer samples"),
        (KernelFisher(), "use fewer samples"),
        (LocalFisher(), "use fewer samples"),
        (SparseLargeMarginClassifier(3, random_state=0, tol=0.05), "use fewer samples"),
    ],
)
def test_every_model_warns_with_advice_that_helps(model, advice, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    y = TWO if isinstance(model, MKLClassifier) else LABELS
    with pytest.warns(MemoryWarning) as warnings:
        model.fit(A, y)
    message = told(warnings)
    assert message.endswith(f"; {advice}") and "matrices of" in message and "0.0 GiB are free" in message
    monkeypatch.setattr(memory, "available_memory", lambda: None)
    model.fit(A, y)  # nobody knows


@pytest.mark.parametrize("combiner", [ConvexMKL(), Localized(l2=1.0), KernelDifference("square")])
def test_fewer_kernels_are_advised_where_each_has_a_matrix(combiner, monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    with pytest.warns(MemoryWarning, match="fewer kernels"):
        MKLClassifier([Linear(), Gaussian()], combiner, random_state=0).fit(A, TWO)


def test_fewer_kernels_are_advised_for_projections_of_kernel_values_only(monkeypatch):
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    with pytest.warns(MemoryWarning, match='fewer samples or dtype="float32"$'):
        MKLClassifier([Linear(), Gaussian()], Projected(1), random_state=0).fit(A, TWO)
    kernels = [Precomputed(A @ A.T), Precomputed(np.eye(40))]
    with pytest.warns(MemoryWarning, match="fewer kernels"):
        MKLClassifier(kernels, Projected(1), random_state=0).fit(np.arange(40)[:, None], TWO)


def exhausted(P, Q):
    """A kernel that there is no memory for, as NumPy says it."""
    return np.empty((2**62 // 8,))


@pytest.mark.parametrize(
    "model",
    [
        MKLClassifier([Linear(), Function(exhausted)]),
        MKLClassifier([Linear(), Function(exhausted)], ConvexMKL()),
        KernelVoting([Linear(), Function(exhausted)]),
        KernelSAMME([Linear(), Function(exhausted)]),
        MKLDR([Linear(), Function(exhausted)]),
        KernelFisher(exhausted),
    ],
)
def test_running_out_of_memory_is_told_the_same_way(model):
    with pytest.raises(
        KernelMemoryError, match="^out of memory: .* needs about .* GiB .*are free; use .*fewer"
    ) as caught:
        model.fit(A, LABELS)
    assert "\n" not in str(caught.value) and isinstance(caught.value.__cause__, MemoryError)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_running_out_of_memory_in_the_machine(monkeypatch):
    def none_left(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("kernelweave.stacks.dense.Matrices.sum", none_left)
    with pytest.raises(
        KernelMemoryError, match=r'the combined kernel needs about .* \(3 matrices of 40 x 40 float64\).*storage="lazy"'
    ):
        MKLClassifier().fit(A, TWO)


def test_running_out_of_memory_in_parts(monkeypatch):
    def none_left(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("kernelweave.stacks.tiles.Tiles.sum", none_left)
    model = MKLClassifier(storage="lazy")
    with pytest.raises(KernelMemoryError, match=r"40 samples are computed in parts.*set_config\(cache_bytes=0\)"):
        model.fit(A, TWO)
    assert not hasattr(model, "storage_")


def test_the_kernel_is_named(monkeypatch):
    stack = KernelStack([("mine", Function(exhausted))]).fit(A)
    with pytest.raises(KernelMemoryError, match="the kernel 'mine' needs about"):
        stack.gram(0)
