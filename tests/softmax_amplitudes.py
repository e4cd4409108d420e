"""Softmax gates as amplitudes, for tests of engines without combiners."""

from __future__ import annotations

import numpy as np

from kernelweave.engines.memory import Block


class SoftmaxAmplitudes:
    """Softmax of a linear function of codes, for tests; 0 for views that a sample lacks."""

    def __init__(self, n_kernels: int, n_codes: int):
        self.shape = n_kernels, n_codes + 1
        self.n_parameters = n_kernels * (n_codes + 1)

    def values(self, theta: np.ndarray, block: Block, rows: slice) -> np.ndarray:
        V = theta.reshape(self.shape)
        z = block.codes[rows] @ V[:, 1:].T + V[:, 0]
        a = np.exp(z - z.max(axis=1, keepdims=True))
        a = a if block.present is None else a * block.present[rows]
        return a / a.sum(axis=1, keepdims=True)

    def pullback(self, theta, block, rows, amplitudes, slopes):
        z = amplitudes * (slopes - (amplitudes * slopes).sum(axis=1, keepdims=True))
        return np.column_stack([z.sum(axis=0), z.T @ block.codes[rows]]).ravel()
