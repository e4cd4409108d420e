"""Generalised cross-validation of C for least squares with a bias, for many C at the cost of one tridiagonal form.

With weights W = diag(w), costs C w_i, and u = W^1/2 1 / |W^1/2 1|, the bias is projected out by P = I - uu'. With
M = P W^1/2 K W^1/2 P and z = P W^1/2 y, the weighted residuals of the least-squares machine are

    W^1/2 (y - f) = (I + C M)^-1 z,        tr(I - A) = sum_j 1 / (1 + C d_j)  over eigenvalues d_j of M but that of u

where A is the hat matrix, f = A y, whose trace counts the bias. For all outputs r together (Golub, Heath and Wahba, 1979)

    GCV(C) = 1/n sum_r |W^1/2 (y_r - f_r)|^2 / (1 - tr A / n)^2.

M = Q T Q' with a tridiagonal T takes 4/3 n^3 operations, a third of the time of eigenvectors; the rest is O(n) for
each C. The kernel is taken as given.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, eigvalsh_tridiagonal, lapack


def gcv_scores(K: np.ndarray, targets: np.ndarray, weight: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """GCV of each C in `costs`; infinite where K + diag(1 / (C w)) is not positive definite.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Finite and symmetric; never written to. Two matrices of this size are made.
    targets : ndarray of shape (n, n_outputs)
    weight : ndarray of shape (n,)
        Positive w.
    costs : ndarray of shape (n_costs,)
    """
    n, root = len(K), np.sqrt(weight)
    scores = np.full(len(costs), np.inf)
    if n < 2:
        return scores
    unit = root / np.linalg.norm(root)
    z = root[:, None] * targets
    z -= np.outer(unit, unit @ z)
    diagonal, beside, reflectors, tau = _tridiagonal(K, root, unit)
    work = int(lapack.dormqr("L", "T", reflectors, tau, z[1:], -1)[1][0])
    z[1:] = lapack.dormqr("L", "T", reflectors, tau, z[1:], work)[0]
    values = eigvalsh_tridiagonal(diagonal, beside)
    values = np.delete(values, np.abs(values).argmin())  # that of u is 0
    for place, C in enumerate(costs.tolist()):
        residual, failed = lapack.dptsv(1.0 + C * diagonal, C * beside, z)[2:]
        trace = (1.0 / (1.0 + C * values)).sum()
        if not failed and trace > 0.0:
            scores[place] = n * (residual**2).sum() / trace**2
    return scores


def _tridiagonal(
    K: np.ndarray, root: np.ndarray, unit: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """T of M, its diagonal and what is beside it, and the reflectors of Q = diag(1, Q_1), as of a QR of Q_1."""
    M = np.multiply(K, root, dtype=np.float64, order="F")
    M *= root[:, None]
    image = M @ unit
    image -= 0.5 * (unit @ image) * unit
    M = blas.dsyr2(-1.0, unit, image, a=M, lower=1, overwrite_a=1)
    work = int(lapack.dsytrd_lwork(len(K), lower=1)[0])
    Q, diagonal, beside, tau, _ = lapack.dsytrd(M, lower=1, lwork=work, overwrite_a=1)
    return diagonal, beside, np.asfortranarray(Q[1:, :-1]), tau
