"""One-class machines on each digit of MULTIFEAT: ``python -m benchmarks.novelty [--quick]``.

A model learns 100 samples of one digit and then ranks the other 1900 samples of all digits; the area under the ROC
curve measures how well it separates its own digit from the nine others. Localized one-class models are bounded but
degenerate (thesis 3.4.2 has the formulas and no experiment): the gates are the same for every sample, which a warning
reports. Kernels are Gaussian: features are centred on the digit, so that a hyperplane through a linear kernel says
nothing.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from kernelweave import MKLOneClass
from kernelweave.combiners import Combiner, Localized, Mean, Sigmoid, Softmax
from kernelweave.datasets import load_multifeat
from kernelweave.kernels import Gaussian

VIEWS = ("fac", "fou", "kar", "mor", "pix", "zer")
COMBINERS = {
    "mean": Mean(),
    "softmax, l2 = 0.001": Localized(Softmax(), l2=0.001),
    "softmax, l2 = 0.1": Localized(Softmax(), l2=0.1),
    "sigmoid, l2 = 0.001": Localized(Sigmoid(), l2=0.001),
    "sigmoid, l2 = 0.1": Localized(Sigmoid(), l2=0.1),
}


def measure(combiner: Combiner, digits: range) -> tuple[list[float], ...]:
    """Area under the curve, share of support vectors, spread of the gates and whether they collapsed, by digit."""
    X, y = load_multifeat(return_X_y=True)
    y = np.asarray(y).astype(int)
    found: tuple[list[float], ...] = ([], [], [], [])
    for digit in digits:
        train = np.random.RandomState(digit).permutation(np.flatnonzero(y == digit))[:100]
        test = np.setdiff1d(np.arange(len(y)), train)
        scaler = StandardScaler().fit(X.to_numpy()[train])
        # A feature that does not vary within the digit has no scale of its own.
        scaled = pd.DataFrame(scaler.transform(X.to_numpy()), columns=X.columns)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = MKLOneClass([Gaussian(view, scale="nearest") for view in VIEWS], combiner, nu=0.1, random_state=0)
            model.fit(scaled.iloc[train])
        gates = model.kernel_weights(scaled.iloc[train]).to_numpy()
        numbers = (
            100.0 * roc_auc_score(y[test] == digit, model.decision_function(scaled.iloc[test])),
            100.0 * len(model.support_) / len(train),
            float(gates.std(axis=0).max()),
            float(any("not localized" in str(warning.message) for warning in said)),
        )
        for column, number in zip(found, numbers, strict=True):
            column.append(number)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two digits")
    digits = range(2 if parser.parse_args().quick else 10)
    print(f"{'combiner':<22}{'AUC %':>15}{'support %':>11}{'gate spread':>13}{'collapsed':>11}")
    for label, combiner in COMBINERS.items():
        area, support, spread, collapsed = measure(combiner, digits)
        print(
            f"{label:<22}{f'{np.mean(area):.2f} ± {np.std(area):.2f}':>15}{np.mean(support):>11.1f}"
            f"{np.mean(spread):>13.3f}{f'{sum(collapsed):.0f} of {len(digits)}':>11}",
            flush=True,
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
