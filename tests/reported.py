"""Parts of a report on a model, found by name, for tests."""

import numpy as np

import kernelweave
from kernelweave import stack_views


def cohort(n_samples=60, n_classes=2, seed=0, missing=()):
    """Two informative views and one of noise, samples named s0, s1, ..., and classes as text."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_samples) % n_classes
    views = {
        "rna": rng.normal(size=(n_samples, 4)) + labels[:, None] * [2.0, -1.0, 0.0, 0.0],
        "protein": rng.normal(size=(n_samples, 3)) + labels[:, None] * [1.0, 1.0, 0.0],
        "noise": rng.normal(size=(n_samples, 2)),
    }
    X = stack_views(views).set_axis([f"s{i}" for i in range(n_samples)], axis=0)
    for view, rows in missing:
        X.loc[X.index[rows], [name for name in X if name.startswith(f"{view}__")]] = np.nan
    return X, np.array([f"class {label}" for label in labels])


def report(model, X, y=None, **options):
    return kernelweave.report(model, X, y, **({"cv": False} | options)).contents


def ids(contents):
    return [section.id for section in contents.sections]


def section(contents, name):
    return next(section for section in contents.sections if section.id == name)


def blocks(contents, name, kind):
    return [block for block in section(contents, name).blocks if block.type == kind]


def block(contents, name, kind, title=""):
    return next(found for found in blocks(contents, name, kind) if title in found.title)


def text(contents, name):
    return " ".join(found.text for found in blocks(contents, name, "text"))


def column(table, name):
    place = [found.name for found in table.columns].index(name)
    return [row[place] for row in table.rows]
