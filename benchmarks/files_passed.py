"""How many files of the library a sample passes in fit and in predict.

    python -m benchmarks.files_passed [--names]

A file counts if a function of it is called, compiled functions included (`sys.setprofile`), in whatever thread
(`threading.setprofile`). Everything that is compiled or computed once is done before. A reader who follows one sample
has to open these files.

There are four ways: kernels as matrices (dense), in tiles, as explicit features, and as features of Dask collections of
two chunks, which Dask computes in this process, without a cluster.
"""

import argparse
import sys
import threading
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np

import kernelweave
from kernelweave import MKLClassifier
from kernelweave.combiners import ConvexMKL, Localized, Mean, Projected, Softmax
from kernelweave.kernels import Gaussian, Linear

try:
    import dask
    import dask.array as da
except ImportError:
    dask = None

ROOT = Path(kernelweave.__file__).parent
KERNELS = [Linear(), Gaussian()]
COMBINERS = {
    "Mean": Mean(),
    "ConvexMKL": ConvexMKL(),
    "Localized": Localized(l2=0.01),
    "Localized, l2 chosen": Localized(),
    "Projected": Projected(2, Softmax()),
}
WAYS = {
    "dense": {"storage": "dense"},
    "tiles": {"storage": "lazy"},
    "features": {"approximation": "nystroem"},
    "Dask": {"approximation": "nystroem"},
}
SAMPLES, CHUNKS = 80, 2


def files_passed(action):
    """The files of the library in which a function is called by an action, in the order of the first call."""
    files = {}

    def note(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(ROOT):
            files.setdefault(path.relative_to(ROOT).as_posix())

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(files)


def passed_by(combiner, way):
    """The files passed in fit and in predict by a model of two kernels; None without Dask, or where it is refused."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(SAMPLES, 4))
    y = X[:, 0] * X[:, 1] > 0
    on_dask = way == "Dask"
    if on_dask:
        if dask is None:
            return None
        X, y = (da.from_array(each, chunks=(SAMPLES // CHUNKS, *each.shape[1:])) for each in (X, y))
    model = MKLClassifier(KERNELS, combiner, random_state=0, **WAYS[way])

    def fit():
        model.fit(X, y)

    def predict():
        np.asarray(model.predict(X))  # on Dask, what is predicted is computed only here

    here = dask.config.set(scheduler="synchronous") if on_dask else nullcontext()
    with warnings.catch_warnings(), here:
        warnings.simplefilter("ignore")
        try:
            fit()
        except ValueError as error:
            if not on_dask:
                raise
            print(f"{combiner} on Dask: {error}", file=sys.stderr)
            return None
        predict()
        return files_passed(fit), files_passed(predict)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--names", action="store_true", help="print the files, too")
    names = parser.parse_args().names
    found = {}
    print(f"{'files in fit/predict':22}", *(f"{way:>10}" for way in WAYS))
    for name, combiner in COMBINERS.items():
        found[name] = {way: passed_by(combiner, way) for way in WAYS}
        cells = (
            "-" if passed is None else "/".join(str(len(files)) for files in passed) for passed in found[name].values()
        )
        print(f"{name:22}", *(f"{cell:>10}" for cell in cells), flush=True)
    for name, ways in found.items() if names else ():
        for way, passed in ways.items():
            for part, files in zip(("fit", "predict"), passed or (), strict=False):
                print(f"\n{name}, {way}, {part}:", *files, sep="\n    ")


if __name__ == "__main__":
    main()
