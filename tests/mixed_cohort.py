"""A small cohort of every kind of view: numbers, categories with gaps, documents, a sparse matrix, similarities."""

import numpy as np
import pandas as pd
import scipy.sparse as sp

from kernelweave import stack_views

WORDS = np.array(["pain", "fever", "cough", "none", "tall", "short", "rash", "ache"])
N = 48


def cohort(n=N, seed=0):
    """X, classes, numbers to predict, and the similarity matrix of the id column ``sim``."""
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.5
    ids = [f"P-{place:03d}" for place in range(n)]
    rna = pd.DataFrame(rng.normal(size=(n, 4)) + 1.5 * ill[:, None], index=ids).add_prefix("g")
    clinical = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.2, np.nan, rng.integers(20, 80, n)),
            "stage": pd.Series(rng.choice(["I", "II", "III"], n), dtype=object).where(rng.random(n) > 0.1).to_numpy(),
            "smokes": rng.random(n) < 0.5,
        },
        index=ids,
    )
    notes = pd.DataFrame({"text": [f"{' '.join(rng.choice(WORDS, 5))} visit{place}" for place in range(n)]}, index=ids)
    counts = sp.csr_matrix(rng.poisson(0.4, size=(n, 12)).astype(float))
    counts = pd.DataFrame.sparse.from_spmatrix(counts, index=ids)
    X = stack_views({"rna": rna, "clinical": clinical, "notes": notes, "counts": counts})
    A = rng.normal(size=(n, 3)) + ill[:, None]
    similarity = pd.DataFrame(A @ A.T - 0.5 * np.eye(n), index=ids, columns=ids)
    X["sim"] = pd.Series(ids, index=ids, dtype=object)
    X.loc[ids[:4], [name for name in X if name.startswith("rna__")]] = np.nan
    X.loc[ids[4:6], "sim"] = np.nan
    X.loc[ids[6:8], "counts"] = np.nan
    X.loc[ids[8:10], "notes__text"] = np.nan
    return X, np.where(ill, "ill", "well"), rng.normal(size=n) + 2.0 * ill, similarity
