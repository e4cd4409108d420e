"""Freeze what many small models compute, so that a refactoring can be checked against the code before it.

PYTHONPATH=/tmp/before/src python tools/compare_models.py write before.npz    # a clone of the code before
python tools/compare_models.py write after.npz
python tools/compare_models.py compare before.npz after.npz

``write`` fits a grid of models with fixed seeds on generated samples and stores what each of them gives for new ones,
or the text of the error where it is refused. It uses public names only, so that any version of the library can be
asked; ``--only SUBSTRING`` takes the models whose key, way/problem/combiner, has that text. Ways are Gram matrices
("dense"), kernels in parts ("lazy", in float32 as by default), and explicit features in float64 with all samples as
landmarks, held ("features") or computed again in each pass ("lazyfeatures").

``compare`` tells by way and quantity how far two files are apart, relative to the largest number of the array in the
first one or to 1. The status is 1 where decision values of some model, fitted or loaded, are farther apart than
`LIMITS`, or where one file has numbers and the other an error. Other changes of errors are only told.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pandas as pd

import kernelweave
from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor
from kernelweave import combiners as kc
from kernelweave.features import NystroemFeatures
from kernelweave.kernels import Gaussian, Linear, Polynomial

FEATURES = {"approximation": NystroemFeatures(1000), "dtype": "float64"}
WAYS = {
    "dense": {"storage": "dense"},
    "lazy": {"storage": "lazy"},
    "features": {"storage": "dense", **FEATURES},
    "lazyfeatures": {"storage": "lazy", **FEATURES},
}
LIMITS = {"dense": 1e-7, "lazy": 1e-5, "features": 1e-4, "lazyfeatures": 1e-4}
CHANGED = "REFUSED, OR OFFERED, IN ONE FILE ONLY"
ATTRIBUTES = ("kernel_weights_", "objective_", "duality_gap_", "intercept_")
METHODS = ("predict", "kernel_weights", "contributions", "gates", "project", "gating_space")
N_TRAIN, N_NEW, SIZES = 66, 30, {"a": 3, "b": 2, "c": 2}
KERNELS = [Gaussian("a"), Linear("b"), Polynomial("c", degree=2)]

#: Machines are solved tightly and descents take few steps, so that both versions walk the same path. Rounding (other
#: BLAS kernels, by OPENBLAS_CORETYPE=Prescott) still changes decision values by up to 3e-6 for dense models, 5e-6 for
#: lazy ones and 1e-6 on features, where two targets with Projected change by 3e-4.
TOL, GATED, STEPS = 1e-8, {"max_iter": 5, "l2": 0.1}, {"max_iter": 3}
CORE = {
    "Mean": kc.Mean(),
    "ConvexMKL": kc.ConvexMKL(),
    "LpMKL": kc.LpMKL(),
    "AlignmentWeights": kc.AlignmentWeights(),
    "EasyMKL": kc.EasyMKL(),
    "BestSingle": kc.BestSingle(cv=3),
    "Localized": kc.Localized(**GATED),
    "Projected": kc.Projected(2, **STEPS),
}
SCORES = (kc.AccuracyWeights, kc.CorrelationWeights, kc.ErrorWeights)
PLAIN = (kc.IdealKernelDistance, kc.FeatureSpaceMeasure, kc.KLDivergence, kc.ElasticMKL, kc.SparseMKL, kc.Product)
GATES = (kc.Sigmoid, kc.GaussianGate, kc.ClusterGate, kc.InstanceGate)
COMBINERS = {
    **CORE,
    **{each.__name__: each(cv=3) for each in SCORES},
    **{each.__name__: each() for each in (*PLAIN, kc.KernelDifference)},
    **{f"Localized {each.__name__}": kc.Localized(each(), **GATED) for each in GATES},
    "FixedWeights": kc.FixedWeights([1.0, 2.0, 0.5]),
    "AlignmentWeights qp": kc.AlignmentWeights("qp"),
    "ConvexMKL conic": kc.ConvexMKL(solver="conic"),
    "ConvexMKL EigenvalueCosts": kc.ConvexMKL(costs=kc.EigenvalueCosts()),
    "ConvexMKL min_weight": kc.ConvexMKL(costs=[1.0, 2.0, 1.0], min_weight=0.1),
    "WidthMKL": kc.WidthMKL(),
    "LpMKL closed-form": kc.LpMKL(1.5, solver="closed-form"),
    "ConvexLocalized": kc.ConvexLocalized(2),
    "GroupMKL": kc.GroupMKL(["x", "x", "y"]),
    "BinaryMKL": kc.BinaryMKL(2),
    "LinearMKL margin": kc.LinearMKL(),
    "LinearMKL alignment": kc.LinearMKL(criterion="alignment"),
    "PolynomialMKL": kc.PolynomialMKL(**STEPS),
    "GeneralizedMKL product": kc.GeneralizedMKL(**STEPS),
    "GeneralizedMKL sum": kc.GeneralizedMKL("sum", "l2", **STEPS),
    "KernelDifference square": kc.KernelDifference("square"),
    "PerOutput": kc.PerOutput(kc.ConvexMKL()),
    "Localized KernelMap": kc.Localized(inputs=kc.KernelMap(Gaussian("a")), **GATED),
    "Localized KernelMap landmarks": kc.Localized(inputs=kc.KernelMap(Gaussian("a"), 10), **GATED),
    "Localized paper": kc.Localized(kc.Softmax("paper"), "b", quadratic=True, scaling="standard", **GATED),
    "Localized auto": kc.Localized(max_iter=5),
    "Localized validation": kc.Localized(validation_fraction=0.3, **GATED),
    "Localized n_init": kc.Localized(n_init=2, **GATED),
    "Projected gating": kc.Projected(2, kc.Softmax(), **STEPS),
    "Projected gating_components": kc.Projected(2, kc.Sigmoid(), gating_components=2, **STEPS),
    "Projected norm": kc.Projected(2, constraint="norm", init="pca", **STEPS),
    "Projected map": kc.Projected(2, features="map", **STEPS),
}

#: Problems: the estimator, the targets by name, and parameters. "auto" is the squared loss on features.
TWO, THREE = (MKLClassifier, "two"), (MKLClassifier, "three")
ONE, BOTH = (MKLRegressor, "one"), (MKLRegressor, "both")
MAIN = {
    "two classes auto": (*TWO, {}),
    "regression auto": (*ONE, {}),
    "regression least-squares": (*ONE, {"machine": "least-squares"}),
}
MACHINES = {
    **MAIN,
    "two classes svm": (*TWO, {"machine": "svm"}),
    "two classes least-squares": (*TWO, {"machine": "least-squares"}),
    "two classes squared-hinge": (*TWO, {"machine": "squared-hinge"}),
    "three classes one-vs-all": (*THREE, {"multiclass": "one-vs-all"}),
    "three classes one-vs-one": (*THREE, {"multiclass": "one-vs-one"}),
    "three classes joint": (*THREE, {"multiclass": "joint"}),
    "three classes per-class": (*THREE, {"weights": "per-class"}),
    "three classes per-class one-vs-one": (*THREE, {"weights": "per-class", "multiclass": "one-vs-one"}),
    "regression svm": (*ONE, {"machine": "svm"}),
    "regression squared-epsilon-insensitive": (*ONE, {"machine": "squared-epsilon-insensitive"}),
    "two targets least-squares": (*BOTH, {"machine": "least-squares"}),
    "two targets auto": (*BOTH, {}),
    "two targets per-target": (*BOTH, {"weights": "per-target", "machine": "least-squares"}),
    "one-class": (MKLOneClass, "none", {"nu": 0.2}),
}


def problem(missing: bool) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any], np.ndarray]:
    """Training samples, new ones, targets by name, and sample weights; with views that some samples lack."""
    rng = np.random.default_rng(7)
    names = [f"{view}__{column}" for view, size in SIZES.items() for column in range(size)]
    X = pd.DataFrame(rng.normal(size=(N_TRAIN + N_NEW, len(names))), columns=names)
    X[["b__0", "b__1"]] += 1.5  # a linear kernel tells such samples from the origin, as the one-class machine does
    score = np.sin(2.0 * X["a__0"]) + X["b__0"] - 1.5 + 0.5 * X["c__0"] * X["c__1"] + 0.3 * rng.normal(size=len(X))
    other = X["a__1"] ** 2 - X["b__1"] + 0.3 * rng.normal(size=len(X))
    if missing:  # the view a stays whole, because BestSingle needs one that is
        for view, first in (("b", 0), ("c", 3)):
            X.loc[X.index[first::7], [name for name in names if name.startswith(view)]] = np.nan
    y = {
        "two": (score > 0).to_numpy().astype(int),
        "three": np.digitize(score, [-0.6, 0.6]),
        "one": score.to_numpy(),
        "both": pd.DataFrame({"score": score, "other": other}),
    }
    targets = {name: values[:N_TRAIN] for name, values in y.items()}
    return X[:N_TRAIN], X[N_TRAIN:], targets | {"none": None}, rng.uniform(0.2, 2.0, N_TRAIN).round(2)


def grid() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """The name of a group, the problem, the combiner, and what `quantities` takes beside these."""
    for name in MAIN:
        yield from (("combiners", name, combiner, {}) for combiner in COMBINERS)
    for name in [name for name in MACHINES if name not in MAIN]:
        yield from (("machines", name, combiner, {}) for combiner in CORE)
    for combiner in CORE:
        for name in (*MAIN, "three classes one-vs-all", "one-class"):
            yield "missing views", name, combiner, {"missing": True}
        for name in MAIN:
            yield "sample_weight", name, combiner, {"weighted": True}
            yield from (("normalize", name, combiner, {"normalize": how}) for how in (None, "center", "unit-trace"))


def attempt(function: Callable[[], Any]) -> np.ndarray:
    """What a function returns, as an array; or its error, as a text."""
    try:
        return np.asarray(function())
    except Exception as error:
        return np.array(f"{type(error).__name__}: {error}")


def quantities(way: str, name: str, combiner: str, missing=False, weighted=False, **more: Any) -> dict[str, np.ndarray]:
    """What one model computes, by the name of the quantity; only "fit", the error, where it is refused."""
    (estimator, target, options), (X, new, targets, weight) = MACHINES[name], problem(missing)
    model = estimator(KERNELS, COMBINERS[combiner], random_state=0, tol=TOL, **options, **WAYS[way], **more)
    refusal = attempt(lambda: model.fit(X, targets[target], sample_weight=weight if weighted else None) and 0)
    if refusal.dtype.kind == "U":
        return {"fit": refusal}

    def decide(model: Any) -> Any:
        return getattr(model, "decision_function", model.predict)(new)

    def loaded() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            kernelweave.save(model, Path(folder) / "model.kw")
            return decide(kernelweave.load(Path(folder) / "model.kw"))

    found = {"decision": attempt(lambda: decide(model)), "loaded": attempt(loaded)}
    found |= {each: attempt(lambda each=each: getattr(model, each)) for each in ATTRIBUTES}
    offered = [each for each in METHODS if hasattr(model, each)]
    return found | {each: attempt(lambda each=each: getattr(model, each)(new)) for each in offered}


def write(path: str, only: str) -> int:
    """Fit the models and store what they compute, as arrays named ``key|quantity``."""
    print(f"kernelweave {kernelweave.__version__} in {Path(kernelweave.__file__).parent}")
    warnings.simplefilter("ignore")
    groups: dict[tuple[str, str], dict[str, tuple]] = defaultdict(dict)
    for way in WAYS:
        for group, name, combiner, options in grid():
            words = ", ".join(f"{option}={value}" for option, value in options.items())
            key = "/".join([way, f"{name} {words}".strip(), combiner])
            if only in key:
                groups[group, way][key] = way, name, combiner, options
    arrays, begin = {}, time.perf_counter()
    for (group, way), models in groups.items():
        start, refused = time.perf_counter(), 0
        for key, (*place, options) in models.items():
            found = quantities(*place, **options)
            refused += "fit" in found
            arrays.update({f"{key}|{quantity}": array for quantity, array in found.items()})
        seconds = time.perf_counter() - start
        print(f"{group:14} {way:13} {len(models):4} models, {refused:3} refused, {seconds:6.1f} s", flush=True)
    np.savez_compressed(path, **arrays)
    print(f"{sum(map(len, groups.values()))} models in {time.perf_counter() - begin:.0f} s: {path}")
    return 0


def difference(before: np.ndarray, after: np.ndarray) -> float:
    """The largest difference, relative to the largest number before or to 1; NaN equals NaN only."""
    if before.shape != after.shape:
        return np.inf
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    size = max(1.0, np.abs(before[np.isfinite(before)]).max(initial=0.0))
    apart = np.where(same, 0.0, np.abs(np.where(same, 0.0, before) - np.where(same, 0.0, after))) / size
    return float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0))


def compare(first: str, second: str) -> int:
    """Tell how far two files are apart; status 1 where that is too far."""
    before, after = np.load(first), np.load(second)
    models = [{name.partition("|")[0] for name in each.files} for each in (before, after)]
    refused = {name.partition("|")[0] for each in (before, after) for name in each.files if name.endswith("|fit")}
    apart: dict[tuple[str, str], list[tuple[float, str]]] = defaultdict(list)
    told: dict[str, list[str]] = defaultdict(list)
    for name in sorted({*before.files, *after.files}):
        key, _, quantity = name.partition("|")
        if key not in models[0] or key not in models[1]:
            told[f"only in {first if key in models[0] else second}"].append(key)
        elif key not in refused or quantity == "fit":
            values = [each[name] if name in each.files else np.array("nothing") for each in (before, after)]
            texts = [str(value) if value.dtype.kind == "U" else "numbers" for value in values]
            if texts[0] == texts[1] == "numbers":
                apart[key.partition("/")[0], quantity].append((difference(*values), key))
            elif texts[0] != texts[1]:
                title = CHANGED if {"numbers", "nothing"} & {*texts} else "other errors"
                told[title].append(f"{name}\n    {texts[0]}\n    {texts[1]}")
    failed = CHANGED in told or not models[0] & models[1]
    for (way, quantity), found in sorted(apart.items()):
        largest = max(found)[0]
        beyond = sum(each > LIMITS[way] for each, _ in found) if quantity in ("decision", "loaded") else 0
        failed |= beyond > 0
        end = f"  {beyond} BEYOND {LIMITS[way]:g}" if beyond else ""
        print(f"{way:13} {quantity:16} {len(found):4} models, largest difference {largest:.1e}{end}")
        for each, key in sorted(found, reverse=True)[: max(5, beyond)]:
            if each > 0.0:
                print(f"    {each:.1e}  {key}")
    for title, lines in told.items():
        print(f"\n{title}:", *sorted(set(lines)), sep="\n  ")
    print("\nnot the same" if failed else "\nthe same within limits")
    return int(failed)


def main() -> int:
    """Write a file, or compare two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["write", "compare"])
    parser.add_argument("files", nargs="+", help="one to write, or two to compare")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="write the models whose key has this text")
    given = parser.parse_args()
    if len(given.files) != (1 if given.command == "write" else 2):
        parser.error("write takes one file, and compare takes two")
    return compare(*given.files) if given.command == "compare" else write(*given.files, given.only)


if __name__ == "__main__":
    sys.exit(main())
