"""Random outcomes with ties of all kinds, for the tests of curves and metrics."""

import numpy as np

from kernelweave.survival import outcome

SEEDS = range(6)


def tied(seed, n=60, last=8, rate=0.6):
    """Times that are whole numbers from 0 on, events and censoring at the same times, and risks of which many tie."""
    rng = np.random.RandomState(seed)
    time = rng.randint(0, last, size=n).astype(float)
    event = rng.rand(n) < rate
    event[rng.randint(n)] = True
    risk = rng.randint(-4, 5, size=n) / 2.0 - 0.2 * time
    return outcome(time, event), risk
