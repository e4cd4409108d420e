"""Convergence of local projection kernels (thesis Figures 5.23, 5.24): ``python -m benchmarks.projected_convergence``.

LPK with two regions of one dimension at C = 100, on WAVEFORM and OLIVETTI: the objective, training and test accuracy
and support vectors after each iteration, and how many machines were solved for them. L-BFGS over all parameters at once
beside the papers' descent (projections and gates in turn, Armijo's rule), from the same start.

The data sets come from the data directory (``KERNELWEAVE_DATA``); one that is not there is left out, with a word.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import Projected, Softmax
from kernelweave.kernels import Linear
from kernelweave.model_selection import SubjectProtocol, ThesisProtocol

SHOWN = (1, 2, 3, 5, 9, 13, 18, 25)  # iterations; the thesis has 25
LONG = 100  # iterations of the L-BFGS fit that is compared by solves
OPTIMIZERS = {"L-BFGS": "lbfgs", "Armijo": "armijo"}
Parts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def waveform() -> Parts:
    """The first fold of the protocol of Figure 5.19: features and labels that train and test."""
    bunch = datasets.load_dataset("waveform", "merged")
    chosen, _ = train_test_split(np.arange(len(bunch.target)), train_size=1500, stratify=bunch.target, random_state=0)
    X, y = bunch.data.iloc[chosen].to_numpy(float), bunch.target[chosen]
    return _standardized(X, y, ThesisProtocol().split(y, True)[0])


def olivetti() -> Parts:
    """The first fold of the protocol of Figure 5.22."""
    bunch = datasets.load_dataset("olivetti", "gender")
    X = bunch.data.filter(like="x64__").to_numpy(float)
    return _standardized(X, bunch.target, SubjectProtocol().split(bunch.target, True, groups=bunch.original_target)[0])


PROBLEMS = {"WAVEFORM": waveform, "OLIVETTI": olivetti}


def _standardized(X: np.ndarray, y: np.ndarray, split: Any) -> Parts:
    scaler = StandardScaler().fit(X[split.train])
    return scaler.transform(X[split.train]), y[split.train], scaler.transform(X[split.test]), y[split.test]


def fit(optimizer: str, iterations: int, parts: Parts) -> MKLClassifier:
    """LPK after so many iterations, or fewer where there is no progress any more."""
    # A random direction of 4096 pixels tells nothing about four women: the machine's w is 0, and so is the gradient.
    combiner = Projected(1, Softmax(), init="lda", optimizer=OPTIMIZERS[optimizer], max_iter=iterations)
    model = MKLClassifier([Linear()] * 2, combiner, C=100.0, tol=1e-5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is stopped on purpose
        return model.fit(*parts[:2])


def trace(optimizer: str, parts: Parts, shown: tuple[int, ...]) -> pd.DataFrame:
    """What is reached after the iterations shown, by fits that stop there: the same descent, cut short."""
    X, y, X_test, y_test = parts
    rows = []
    for iterations in shown:
        model = fit(optimizer, iterations, parts)
        rows.append(
            {
                "iterations": len(model.history_) - 1,
                "solves": int(model.history_["solves"].sum()),
                "objective": model.history_["objective"].iloc[-1],
                "train %": 100.0 * model.score(X, y),
                "test %": 100.0 * model.score(X_test, y_test),
                "support %": 100.0 * len(model.support_) / len(y),
            }
        )
    return pd.DataFrame(rows).drop_duplicates("iterations").set_index("iterations")


def solves_to(model: MKLClassifier, objective: float) -> int | None:
    """How many machines a fit solved until its objective was as low as this; None where it never was."""
    reached = np.flatnonzero(model.history_["objective"].to_numpy() <= objective)
    return int(model.history_["solves"].cumsum().iloc[reached[0]]) if len(reached) else None


def print_convergence(name: str, parts: Parts, shown: tuple[int, ...]) -> None:
    """Both optimisers by iteration, then by solves."""
    traces = {optimizer: trace(optimizer, parts, shown) for optimizer in OPTIMIZERS}
    print(f"\n{name}: {len(parts[1])} training samples, {parts[0].shape[1]} features, P = 2, R_m = 1, C = 100")
    print(pd.concat(traces, axis=1).to_string(float_format="{:.1f}".format, na_rep="-"))
    end = traces["Armijo"].iloc[-1]
    long = fit("L-BFGS", LONG, parts)
    total, last = int(long.history_["solves"].sum()), long.history_["objective"].iloc[-1]
    print(
        f"Armijo descent ends at {end['objective']:.1f} after {end['solves']:.0f} solves; L-BFGS is there after "
        f"{solves_to(long, end['objective'])}, and at {last:.1f} after {total}."
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer iterations are shown")
    parser.add_argument("--part", choices=PROBLEMS, help="only this data set")
    options = parser.parse_args()
    with threadpool_limits(1):
        for name in [options.part] if options.part else PROBLEMS:
            try:
                parts = PROBLEMS[name]()
            except FileNotFoundError as error:
                print(f"\n{name} is left out: {error}")
            else:
                print_convergence(name, parts, SHOWN[-1:] if options.quick else SHOWN)


if __name__ == "__main__":
    main()
