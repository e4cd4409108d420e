"""One cell of `benchmarks.scale`, in a process of its own: ``python -m benchmarks.scale_cells '{"samples": 2000}'``.

The problem: views of 20 standard normal features each. In one half of the space, by the sum of the first features of
the first two views, the label is the sign of a linear function of the first view, in the other half of one of the
second view, plus noise; with one view both functions are of that view. Of more than two classes, each has as many
samples, in the order of these functions. Kernels are Gaussian, exp(-||x - z||^2 / 20).

The bound is the time that forming the kernel values alone would take at the machine's measured rates: for each kernel
and pair of samples 2 x 20 operations for the inner product, and one exponential. Pairs are counted as the kernels in
parts form them; dense storage forms each once. On the host both times are added up; on a device different units do the
work, so that the longer time counts.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from typing import Any

import numpy as np
from scipy.stats import norm

FEATURES = 20
NOISE = 0.5
FRESH = 10_000  # samples on which accuracy is measured
GAP = 1e-3  # relative duality gap, and libsvm's tolerance
BLOCK = 2048


def problem(n: int, n_views: int, seed: int, n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Samples and labels of +1 and -1, or from 0 where there are more than two classes."""
    rng = np.random.default_rng(seed)
    directions = np.random.default_rng(1234).normal(size=(2, FEATURES))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    X = rng.normal(size=(n, n_views * FEATURES))
    second = slice(FEATURES, 2 * FEATURES) if n_views > 1 else slice(0, FEATURES)
    region = X[:, 0] + X[:, second.start] > 0
    rule = np.where(region, X[:, :FEATURES] @ directions[0], X[:, second] @ directions[1])
    values = rule + NOISE * rng.normal(size=n)
    if n_classes > 2:
        shares = np.arange(1, n_classes) / n_classes
        return X, np.digitize(values, norm.ppf(shares, scale=(1.0 + NOISE**2) ** 0.5))
    return X, np.where(values > 0, 1.0, -1.0)


class FormedValues:
    """Counts the values of base kernels that kernels in parts form."""

    def __init__(self) -> None:
        from kernelweave.kernels.tiles.host import SumRows
        from kernelweave.kernels.tiles.stack import TileStack

        self.count = 0
        for name, n_leading in (("images", 0), ("block", 1)):
            setattr(TileStack, name, self._counted(getattr(TileStack, name), n_leading))
        whole = TileStack.sum_block

        def sum_block(parts: Any, rows: np.ndarray, left: Any, weights: Any, kernels: Any = None) -> Any:
            before = self.count
            found = whole(parts, rows, left, weights, kernels)
            self.count = before + len(rows) ** 2 * (parts.n_kernels if kernels is None else len(kernels))
            return found

        TileStack.sum_block = sum_block  # type: ignore[method-assign]
        rows_of = SumRows.fill

        def fill(kept: Any, rows: np.ndarray, *where: Any) -> None:
            self.count += len(rows) * kept.n_samples * (len(kept.tiled) + len(kept.others))
            rows_of(kept, rows, *where)

        SumRows.fill = fill  # type: ignore[method-assign]

    def _counted(self, method: Any, n_leading: int) -> Any:
        def counted(parts: Any, *arguments: Any, **options: Any) -> Any:
            rows, columns = arguments[n_leading : n_leading + 2]
            kernels = [0] if n_leading else (arguments[3] if len(arguments) > 3 else options.get("kernels"))
            n_kernels = parts.n_kernels if kernels is None else len(kernels)
            n_columns = parts.sources[0].n_columns if columns is None else len(columns)
            self.count += n_kernels * n_columns * (parts.n_samples if rows is None else len(rows))
            return method(parts, *arguments, **options)

        return counted


def peak_memory() -> float:
    """The largest resident memory of this process so far, in GB."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024 / 1e9


def host_rates() -> tuple[float, float]:
    """Products and exponentials of this machine a second, in float32, on as many threads as BLAS has."""
    from threadpoolctl import threadpool_info

    rng = np.random.default_rng(0)
    A = rng.normal(size=(1024, 1024)).astype(np.float32)
    values = -rng.random(2**14).astype(np.float32)  # in the first cache
    out = np.empty_like(values)
    products, exponentials = [], []
    for _ in range(10):
        begin = time.perf_counter()
        A @ A
        products.append(2.0 * len(A) ** 3 / (time.perf_counter() - begin))
        begin = time.perf_counter()
        for _ in range(50):
            np.exp(values, out=out)
        exponentials.append(50.0 * len(values) / (time.perf_counter() - begin))
    threads = max((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)
    return max(products), threads * max(exponentials)


def bound(n_values: float, device: str) -> float:
    """Seconds for so many kernel values at the machine's rates."""
    if device == "cuda":
        from benchmarks.device_rates import device_rates

        products, exponentials = device_rates()
        return max(2.0 * FEATURES * n_values / products, n_values / exponentials)
    products, exponentials = host_rates()
    return 2.0 * FEATURES * n_values / products + n_values / exponentials


def estimator(cell: dict[str, Any]) -> Any:
    """The estimator of a cell."""
    from kernelweave import MKLClassifier
    from kernelweave.combiners import ConvexMKL, Localized, Mean, WeightedSum
    from kernelweave.kernels import Gaussian

    class MeanToGap(Mean):
        """The mean kernel, with the machine solved to a relative duality gap."""

        def learn(self, stack: Any, machine: Any, control: Any) -> Any:
            begin = time.perf_counter()
            kernel = WeightedSum(stack, np.full(stack.n_kernels, 1.0 / stack.n_kernels), owner="Mean")
            solution = machine.solve(kernel.operand(), gap_tol=GAP)
            row = {"objective": solution.objective, "solves": 1, "seconds": time.perf_counter() - begin}
            return kernel.solved(solution, [row])

    P = cell["kernels"]
    kernels = [
        (f"view{v}", Gaussian(list(range(v * FEATURES, (v + 1) * FEATURES)), scale=FEATURES**0.5)) for v in range(P)
    ]
    combiners = {"mean": Mean(), "convex": ConvexMKL(), "localized": Localized(l2=0.01)}
    combiner = MeanToGap() if cell["method"] == "mean" and cell["stop"] == "gap" else combiners[cell["method"]]
    place = {"storage": cell["storage"], "device": cell["device"]}
    return MKLClassifier(kernels, combiner, machine=cell["loss"], C=cell["C"], tol=GAP, random_state=0, **place)


def ours(cell: dict[str, Any], X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Fit our estimator, and predict where that is asked for."""
    formed = FormedValues()
    few = 300 if cell["loss"] == "svm" else 3000  # of which not all are landmarks
    estimator(cell).fit(*problem(few, cell["kernels"], 9, cell["classes"])).decision_function(X[:10])  # compiled code
    formed.count = 0
    model = estimator(cell)
    synchronize = _reset_device(cell["device"])
    begin = time.perf_counter()
    kernel = model.fit_kernel(X, y)
    synchronize()
    seconds = time.perf_counter() - begin
    solution = kernel.solution
    n_values = formed.count if model.storage_ == "lazy" else cell["kernels"] * len(X) * (len(X) + 1) // 2
    memory = {"gigabytes": peak_memory(), "device_gigabytes": _device_memory(cell["device"])}
    fresh, labels = problem(FRESH, cell["kernels"], 2, cell["classes"])
    found = {
        "seconds": seconds,
        "storage": model.storage_,
        "objective": model.objective_,
        "gap": model.duality_gap_ / max(1.0, abs(model.objective_)),
        "violation": solution.violation,
        "steps": int(solution.steps),
        "rounds": getattr(solution, "rounds", None),
        "solves": int(model.history_["solves"].sum()),
        "support": len(model.support_),
        "accuracy": float((model.predict(fresh) == labels).mean()),
        "values": n_values,
        "bound": bound(n_values, cell["device"]),
        **memory,
    }
    return found | _predicted(model, cell) if cell["predict"] else found


def _predicted(model: Any, cell: dict[str, Any]) -> dict[str, Any]:
    new, _ = problem(cell["predict"], cell["kernels"], 3)
    begin = time.perf_counter()
    model.decision_function(new)
    seconds = time.perf_counter() - begin
    n_values = float(len(new)) * len(model.support_) * cell["kernels"]
    return {"predict_seconds": seconds, "predict_bound": bound(n_values, cell["device"])}


def rival(cell: dict[str, Any], X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Fit libsvm or oneDAL at the same KKT tolerance, and certify the result."""
    if cell["solver"] == "onedal":
        from sklearnex.svm import SVC
    else:
        from sklearn.svm import SVC
    model = SVC(C=cell["C"], gamma=1.0 / FEATURES, tol=GAP, cache_size=1000)
    SVC(C=cell["C"], gamma=1.0 / FEATURES).fit(*problem(300, 1, 9))  # loads the library
    begin = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - begin
    memory = peak_memory()
    fresh, labels = problem(FRESH, 1, 2)
    coef = model.dual_coef_[0]
    values = _values(X, X[model.support_], coef)
    curved = float(coef @ values[model.support_])
    dual = float(np.abs(coef).sum()) - 0.5 * curved
    primal = 0.5 * curved + cell["C"] * np.maximum(0.0, 1.0 - y * (values + model.intercept_[0])).sum()
    return {
        "seconds": seconds,
        "storage": "",
        "objective": dual,
        "gap": (primal - dual) / max(1.0, abs(dual)),
        "support": len(coef),
        "steps": int(np.sum(model.n_iter_)),
        "accuracy": float((model.predict(fresh) == labels).mean()),
        "gigabytes": memory,
    }


def ridge(cell: dict[str, Any], X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Fit kernel ridge regression on classes coded +1 and -1, whose only difference is that it has no bias."""
    Y = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    penalty, gamma = 1.0 / cell["C"], 1.0 / FEATURES
    if cell["solver"] == "himalaya":
        from himalaya.kernel_ridge import KernelRidge

        model = KernelRidge(alpha=penalty, kernel="rbf", kernel_params={"gamma": gamma})
    else:
        from sklearn.kernel_ridge import KernelRidge

        model = KernelRidge(alpha=penalty, kernel="rbf", gamma=gamma)
    model.fit(X[:300], Y[:300])
    begin = time.perf_counter()
    model.fit(X, Y)
    seconds = time.perf_counter() - begin
    memory = peak_memory()
    fresh, labels = problem(FRESH, 1, 2, cell["classes"])
    predicted = np.unique(y)[np.asarray(model.predict(fresh)).argmax(axis=1)]
    accuracy = float((predicted == labels).mean())
    return {"seconds": seconds, "storage": "", "accuracy": accuracy, "gigabytes": memory}


def _values(X: np.ndarray, support: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """The Gaussian kernel between samples and support vectors, times coefficients, some samples at a time."""
    found = np.empty(len(X))
    right = (support**2).sum(axis=1)
    for first in range(0, len(X), BLOCK):
        part = X[first : first + BLOCK]
        squared = (part**2).sum(axis=1)[:, None] + right - 2.0 * part @ support.T
        found[first : first + BLOCK] = np.exp(squared / -FEATURES) @ coef
    return found


def _reset_device(device: str) -> Any:
    """Forget the device's peak memory; returns what waits for it."""
    if device != "cuda":
        return lambda: None
    import torch

    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.synchronize


def _device_memory(device: str) -> float | None:
    if device != "cuda":
        return None
    import torch

    return torch.cuda.max_memory_allocated() / 1e9


def machine_of(device: str) -> str:
    """What the cell ran on, in words."""
    if device == "cuda":
        import torch

        return torch.cuda.get_device_name()
    cores = len(os.sched_getaffinity(0))
    return f"{cores} {os.uname().machine} cores"


def main() -> None:
    cell = json.loads(sys.argv[1])
    warnings.simplefilter("ignore")
    whole = {"loss": "svm", "classes": 2, **cell}
    X, y = problem(cell["samples"], cell["kernels"], 0, whole["classes"])
    fit = ours if cell["solver"] == "kernelweave" else rival if whole["loss"] == "svm" else ridge
    found = fit(whole, X, y)
    print(json.dumps({**cell, **found, "machine": machine_of(cell["device"])}))


if __name__ == "__main__":
    main()
