"""Small files in the form of registered data sets, with classes that can be told apart: tests need no data home."""

import numpy as np
import scipy.sparse as sp

from kernelweave.datasets.catalogue import CATALOGUE


def write_toy(folder, name, n_samples=120, seed=0):
    """Write ``NAME.npz``: in every view a few columns carry the class, or the number to predict."""
    spec, rng = CATALOGUE[name], np.random.default_rng(seed)
    labels = np.arange(n_samples) % len(spec.classes) if spec.classes else rng.uniform(0.0, 3.0, n_samples)
    views = spec.views or {"X": 40}
    arrays = {}
    for view, n_columns in views.items():
        values = rng.normal(size=(n_samples, n_columns))
        if spec.is_sparse:
            values *= rng.random(values.shape) < 0.005
        values[:, :8] += 3.0 * np.cos(labels[:, None] + np.arange(n_columns)[:8])
        if not spec.is_sparse:
            arrays[view] = values.astype(np.float32)
            continue
        parts = sp.csr_matrix(np.maximum(values, 0.0))
        prefix = "" if spec.is_text else f"{view}_"
        arrays |= {f"{prefix}{part}": getattr(parts, part) for part in ("data", "indices", "indptr")}
        arrays[f"{prefix}shape"] = np.array(parts.shape)
    arrays["y"] = labels + spec.first_label if spec.classes else labels
    arrays |= {extra: np.arange(n_samples) % 2 == 0 for extra in spec.extras}
    np.savez(folder / f"{name}.npz", **arrays)
