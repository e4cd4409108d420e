"""Samples, and functions that fit models to them, for models of every kind that is saved."""

import numpy as np
import pandas as pd
import scipy.sparse as sp

from kernelweave import MKLClassifier, MKLOneClass, MKLRegressor, MKLSurvival, stack_views
from kernelweave.kernels import (
    Clinical,
    Distance,
    Gaussian,
    Linear,
    Polynomial,
    Precomputed,
)
from kernelweave.survival import outcome

rng = np.random.default_rng(0)
N = 24
A = rng.normal(size=(N, 5))
NEW = rng.normal(size=(11, 5))
TWO = np.where(A[:, 0] + 0.5 * rng.normal(size=N) > 0, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(A[:, 0] + 0.3 * rng.normal(size=N), [-0.5, 0.5])]
VALUE = np.sin(A[:, 0]) + A[:, 1]
TARGETS = pd.DataFrame({"first": VALUE, 2: A[:, 2] * A[:, 3]})
WORDS = np.array(["".join(rng.choice(list("abµ"), size=rng.integers(1, 9))) for _ in range(N + 11)], dtype=object)
FRAME = pd.DataFrame(np.vstack([A, NEW]), columns=["u__0", "u__1", "v__0", "v__1", "w"]).assign(
    flag=np.arange(N + 11) % 2 == 0, count=np.arange(N + 11), word=WORDS, id=np.arange(N + 11)
)
GRAM = FRAME[["u__0", "u__1"]].to_numpy() @ FRAME[["u__0", "u__1"]].to_numpy().T

DISTANCES = np.abs(FRAME["u__0"].to_numpy()[:, None] - FRAME["u__0"].to_numpy()[None, :])
GAPS = np.where(np.random.default_rng(5).random(A.shape) < 0.2, np.nan, A)
INDEFINITE = GRAM - 2.0 * np.outer(FRAME["w"], FRAME["w"])


def common_letters(P, Q):
    return np.array([[float(len(set(p[0] or "") & set(q[0] or ""))) for q in Q] for p in P])


def pairs_and_counts(P, Q):
    return np.array([[(p[0] == q[0]) + p[1] * q[1] * 1.0 + type(p[1]).__name__.count("i") for q in Q] for p in P])


def dot(P, Q, factor=1.0):
    product = P @ Q.T
    return factor * (product.toarray() if sp.issparse(product) else product)


CALLABLES = {"common_letters": common_letters, "pairs_and_counts": pairs_and_counts, "dot": dot}
KERNELS = [Linear([0, 1]), Gaussian(slice(1, 4)), Polynomial()]
EMBEDDED = [Linear([0, 1]), Gaussian(slice(1, 4)), Gaussian()]
NUMBERED = np.arange(N)[:, None], np.arange(N + 11)[:, None]
ALIKE = (THREE[:, None] == THREE[None, :]).astype(float)
SOME = np.where(np.arange(N) % 3 == 0, -1, np.unique(THREE, return_inverse=True)[1])  # -1: no label


def classifier(kernels=KERNELS, y=TWO, X=A, new=NEW, fit=None, **options):
    return lambda: (MKLClassifier(kernels, **options).fit(X, y, **(fit or {})), new)


def on_frame(kernels, y=TWO, missing=(), rule="native", **options):
    frame = FRAME.copy()
    for row, columns in missing:
        frame.loc[row, columns] = None if columns == "word" else np.nan
    return classifier(kernels, y, frame.iloc[:N], frame.iloc[N:], missing=rule, **options)


def on_sparse_frame():
    frame = stack_views({"s": sp.csr_array(np.where(A[:, :3] > 0, A[:, :3], 0.0)), "d": A[:, 3:]})
    frame.loc[frame.index % 5 == 1, "s"] = np.nan
    model = MKLClassifier([Linear("s"), Gaussian("d")], normalize=None).fit(frame, TWO)
    return model, stack_views({"s": NEW[:, :3], "d": NEW[:, 3:]})


def ids(*kernels, n=N, **options):
    return classifier(list(kernels), TWO, np.arange(N)[:, None], np.arange(n)[:, None], **options)


def extended():
    kernel = Precomputed(GRAM[:N, :N], view="id")
    model = MKLClassifier([kernel, Linear("v")]).fit(FRAME.iloc[:N], TWO)
    model.replace_kernel("id", kernel.extend(GRAM[N:, :N], np.diagonal(GRAM)[N:]))
    return model, FRAME.iloc[N:]


def by_label(n=N + 11, missing=(), **options):
    """A model over matrices with labels; for n = N new samples come by blocks, of which some lack the last samples."""
    names = [f"s{row}" for row in range(N + 11)]
    first, second = (pd.DataFrame(values, names, names) for values in (GRAM, DISTANCES))
    frame = pd.DataFrame({"a": names, "b": names}, names)
    frame.loc[list(missing), "b"] = None
    known = frame.index[:n]
    kernels = [
        ("first", Precomputed(first.loc[known, known[::-1]], "a")),
        ("second", Distance(second.loc[known, known], "b")),
        ("third", Precomputed(first.loc[known, known], "a")),
    ]
    model = MKLClassifier(kernels, **options).fit(frame.iloc[:N], TWO)
    if n == N:
        blocks = {"first": first.iloc[N:], "second": second.iloc[N:-1], "third": first.iloc[N:-2]}
        return model, model.extend_kernels(blocks)
    return model, frame.iloc[N:]


def clinical():
    """All kinds of variables, with missing cells; one that is constant, and one without values."""
    letters = np.array([word[0] for word in WORDS], dtype=object)
    frame = FRAME.assign(letter=letters, same=2.0, none=np.nan).astype({"flag": object, "count": float})
    columns = ["v__0", "v__1", "count", "flag", "word", "letter", "same", "none"]
    holes = np.random.default_rng(5).random((N + 11, len(columns))) < 0.2
    holes[[3, N + 1]] = True
    frame[columns] = frame[columns].mask(holes)
    kernel = Clinical(columns, ordinal={"letter": ["a", "b", "µ"]}, nominal=["count"])
    return MKLClassifier([("table", kernel), Linear("u")]).fit(frame.iloc[:N], TWO), frame.iloc[N:]


def one_class(*kernels, **options):
    return lambda: (MKLOneClass(list(kernels), nu=0.3, **options).fit(A), NEW)


def survival(stratified=False, **options):
    strata = np.where(np.arange(len(VALUE)) % 2, "a", "b") if stratified else None
    y = outcome(np.exp(VALUE - VALUE.min()), np.arange(len(VALUE)) % 3 > 0)
    return lambda: (MKLSurvival(KERNELS, C=0.3, **options).fit(A, y, strata=strata), NEW)


def regressor(y=VALUE, **options):
    return lambda: (MKLRegressor(KERNELS, C=3.0, **options).fit(A, y), NEW)


def labelled(model, X=A, new=NEW, y=THREE):
    return lambda: (model.fit(X, y), new)
