"""How many files of the library a sample passes in fit and in predict.

    python -m benchmarks.files_passed [--names]

A file counts if a function of it is called, compiled functions included (`sys.setprofile`). Everything that is compiled
or computed once is done before. A reader who follows one sample has to open these files.
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

import kernelweave
from kernelweave import MKLClassifier
from kernelweave.combiners import ConvexMKL, Localized, Mean, Projected, Softmax
from kernelweave.kernels import Gaussian, Linear

ROOT = Path(kernelweave.__file__).parent
KERNELS = [Linear(), Gaussian()]
COMBINERS = {
    "Mean": Mean(),
    "ConvexMKL": ConvexMKL(),
    "Localized": Localized(l2=0.01),
    "Localized, l2 chosen": Localized(),
    "Projected": Projected(2, Softmax()),
}


def files_passed(action):
    """The files of the library in which a function is called by an action, in the order of the first call."""
    files = {}

    def note(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(ROOT):
            files.setdefault(path.relative_to(ROOT).as_posix())

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return list(files)


def passed_by(combiner):
    """The files passed in fit and in predict by a model of two kernels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = X[:, 0] * X[:, 1] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MKLClassifier(KERNELS, combiner, random_state=0).fit(X, y)
        model.predict(X)
        return files_passed(lambda: model.fit(X, y)), files_passed(lambda: model.predict(X))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--names", action="store_true", help="print the files, too")
    names = parser.parse_args().names
    for name, combiner in COMBINERS.items():
        fit, predict = passed_by(combiner)
        print(f"{name:22} fit {len(fit):3}   predict {len(predict):3}")
        if names:
            print("  fit:    ", *fit, sep="\n    ")
            print("  predict:", *predict, sep="\n    ")


if __name__ == "__main__":
    main()
