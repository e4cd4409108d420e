"""What a cell of the benchmark holds: error, log loss, stored samples, seconds and memory of a method on one split.

========================  ==========================================================================================
number                    meaning
========================  ==========================================================================================
``test``                  errors on the test samples, in per cent
``log_loss``              mean of -log of the probability of the true class, which counts as at least 1e-6
``stored``                training samples that a prediction needs
``seconds``               processor time of the selection of the setting and of the fit, with one thread
``predict_seconds``       the same of the prediction of all test samples
``memory_mb``             largest memory of the process in that time, above what it had at the start (Linux only)
========================  ==========================================================================================

Before the clock runs, a method is fitted once in each process to a few samples, so that neither the loading of
compiled code nor imports count.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from kernelweave.compare import Problem
from kernelweave.compare.run import plain
from kernelweave.model_selection import Split

LEAST_PROBABILITY = 1e-6
_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_FEW = 6  # samples of each class for the first fit of a process
_warm: set[str] = set()  # methods that this process has fitted once


def measure_cell(label: str, model: BaseEstimator, problem: Problem, split: Split, parts: list[Any]) -> dict[str, Any]:
    """Fit one method on the training samples of a split and measure it on the test samples.

    Parameters
    ----------
    label : str
        Name of the method.
    model : BudgetedSelection
        Unfitted.
    problem : Problem
    split : Split
    parts : list of DataFrame
        Samples that train, validate (none) and test.

    Returns
    -------
    dict
        The numbers above, and `setting`, `n_train`, `n_test` and `digest`, see `split_digest`.
    """
    train, test = parts[0], parts[2]
    targets, true = problem.y[split.train], problem.y[split.test]
    _warm_up(label, model, train, targets)
    with peak_memory() as memory:
        start = time.process_time()
        fitted: Any = clone(model).fit(train, targets)
        seconds = time.process_time() - start
        error = problem.error(fitted, test, split.test)
        predict_seconds = time.process_time() - start - seconds
    score = fitted.validation_score_
    return {
        "candidate": label,
        "validation": None if score is None else 100.0 * (1.0 - score),
        "test": error,
        "log_loss": log_loss(fitted, test, true),
        "stored": plain(fitted.n_stored_),
        "seconds": seconds,
        "predict_seconds": predict_seconds,
        "memory_mb": memory.get("megabytes"),
        "setting": fitted.setting_,
        "n_train": len(targets),
        "n_test": len(true),
        "digest": split_digest(split),
    }


def split_digest(split: Split) -> str:
    """A digest of a split, by which others can check that theirs is the same.

    The first 12 hexadecimal digits of SHA-256 over the positions of the training and then of the test samples, as
    little-endian 64-bit integers.

    Parameters
    ----------
    split : Split

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.benchmark.measures import split_digest
    >>> from kernelweave.model_selection import Split
    >>> split_digest(Split(np.array([0, 2]), np.array([], dtype=int), test=np.array([1, 3])))
    '270880408f62'
    """
    positions = np.concatenate([split.train, split.test]).astype("<i8")
    return hashlib.sha256(positions.tobytes()).hexdigest()[:12]


def log_loss(model: Any, X: Any, y: np.ndarray) -> float | None:
    """Mean of -log of the probability of the true class, at least 1e-6; None for a model without probabilities.

    Parameters
    ----------
    model : classifier
        Fitted.
    X : DataFrame or array
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from experiments.benchmark.measures import log_loss
    >>> model = DummyClassifier(strategy="uniform").fit(np.zeros((2, 1)), ["a", "b"])
    >>> round(log_loss(model, np.zeros((3, 1)), np.array(["a", "b", "c"])), 2)  # "c" was not in training
    5.07
    """
    if not hasattr(model, "predict_proba"):
        return None
    found = np.asarray(model.predict_proba(X))
    place = np.searchsorted(model.classes_, y).clip(max=len(model.classes_) - 1)
    own = np.where(model.classes_[place] == y, found[np.arange(len(y)), place], 0.0)
    return float(-np.log(np.clip(own, LEAST_PROBABILITY, 1.0)).mean())


@contextmanager
def peak_memory() -> Iterator[dict[str, float]]:
    """Measure the largest memory of this process while a block runs, above what it has at the start.

    Linux keeps the largest resident size of a process (VmHWM) and sets it back on demand. Elsewhere, and where that is
    not allowed, the mapping stays empty.

    Yields
    ------
    dict
        With ``megabytes`` when the block has ended.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.benchmark.measures import peak_memory
    >>> with peak_memory() as memory:
    ...     values = np.ones(16_000_000).sum()
    >>> memory.get("megabytes", 128.0) > 64.0
    True
    """
    found: dict[str, float] = {}
    _tidy()
    try:
        _RESET.write_text("5")
    except OSError:
        yield found
        return
    start = _resident("VmRSS")
    yield found
    found["megabytes"] = max(_resident("VmHWM") - start, 0.0)


def _resident(name: str) -> float:
    """A line of the status of this process, in megabytes of 2**20 bytes."""
    lines = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return float(lines[name].split()[0]) / 1024.0


def _tidy() -> None:
    """Give memory that is no longer needed back, so that a cell does not use what the last one left for nothing."""
    gc.collect()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # a C library other than glibc
            ctypes.CDLL("libc.so.6").malloc_trim(0)


def _warm_up(label: str, model: Any, X: Any, y: np.ndarray) -> None:
    """Fit the first setting of a method to a few samples, once in each process."""
    if label in _warm:
        return
    _warm.add(label)
    few = np.concatenate([np.flatnonzero(y == own)[:_FEW] for own in np.unique(y)[:2]])
    first = next(iter(model.candidates.values()))
    with suppress(Exception):  # what is wrong with it is found, and recorded, when it is measured
        clone(first).fit(X.iloc[few], y[few]).predict(X.iloc[few])
