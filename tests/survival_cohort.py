"""A small cohort of two views with times to an event, in memory and as files people keep."""

import numpy as np
import pandas as pd

from kernelweave.survival import outcome


def cohort(n=90, signal=1.5, seed=0, lacking=0):
    """Views rna (4 numbers, the first and second tell) and clinical (age, sex), and times and events."""
    rng = np.random.default_rng(seed)
    rna, age, sex = rng.normal(size=(n, 4)), rng.normal(60.0, 10.0, n), rng.choice(["f", "m"], n)
    risk = signal * (rna[:, 0] - 0.5 * rna[:, 1] + 0.05 * (age - 60.0))
    time, last_seen = 500.0 * rng.exponential(np.exp(-risk)), 900.0 * rng.exponential(size=n) + 20.0
    ids = pd.Index([f"p{i:03d}" for i in range(n)], name="sample")
    X = pd.DataFrame(rna, ids, [f"rna__g{i}" for i in range(4)]).assign(clinical__age=age.round(1), clinical__sex=sex)
    X.loc[ids[:lacking], ["clinical__age", "clinical__sex"]] = np.nan
    return X, outcome(np.minimum(time, last_seen).round(1) + 1.0, time <= last_seen)


def write_files(folder, X, y):
    """rna.csv, clinical.csv, and labels.csv with the columns time, event (0, 1), status and code (1, 2)."""
    folder.mkdir(parents=True, exist_ok=True)
    for view in ("rna", "clinical"):
        own = X[[name for name in X if name.startswith(view)]].dropna(how="all")
        own.rename(columns=lambda name: name.partition("__")[2]).to_csv(folder / f"{view}.csv")
    event = y["event"]
    labels = {"time": y["time"], "event": event.astype(int), "status": np.where(event, "dead", "alive")}
    pd.DataFrame(labels | {"code": event + 1}, X.index).to_csv(folder / "labels.csv")
