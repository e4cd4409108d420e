"""Independent answers for the joint multiclass dual (1.11): Clarabel's optimum, and both objectives in plain NumPy."""

from __future__ import annotations

import clarabel
import numpy as np
from scipy import sparse


def clarabel_joint(K, labels, margins, bound):
    """Optimum over the alphas themselves, with the quadratic form written out."""
    n, k = margins.shape
    who, other = np.nonzero(np.arange(k)[None, :] != labels[:, None])
    direction = np.eye(k)[labels[who]] - np.eye(k)[other]  # what one alpha does to the columns of its row of C
    P = K[np.ix_(who, who)] * (direction @ direction.T) + 1e-13 * np.eye(len(who))
    size = len(who)
    A = np.vstack([direction.T, np.eye(size), -np.eye(size)])
    b = np.concatenate([np.zeros(k), bound[who], np.zeros(size)])
    cones = [clarabel.ZeroConeT(k), clarabel.NonnegativeConeT(2 * size)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    answer = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(P)), -margins[who, other], sparse.csc_matrix(A), b, cones, settings
    ).solve()
    assert str(answer.status) in ("Solved", "AlmostSolved"), answer.status
    return -answer.obj_val


def recovered_alpha(C, labels):
    """alpha_i^l from C, zero for l = y_i."""
    alpha = -C.copy()
    alpha[np.arange(len(labels)), labels] = 0.0
    return alpha


def joint_dual(K, labels, margins, C):
    alpha = recovered_alpha(C, labels)
    return (margins * alpha).sum() - 0.5 * sum(column @ K @ column for column in C.T)


def joint_primal(K, labels, margins, bound, C, b):
    """Thesis (1.9) at w = sum_i C_i phi(x_i) and these biases."""
    f = K @ C + b
    lead = f[np.arange(len(labels)), labels][:, None] - f
    loss = np.maximum(0.0, margins - lead)
    loss[np.arange(len(labels)), labels] = 0.0
    return 0.5 * sum(column @ K @ column for column in C.T) + bound @ loss.sum(axis=1)
