"""What a stack of kernels does with samples beside those of its fit: compare them, look them up, take in more."""

from __future__ import annotations

import numpy as np

from ...views import Views
from ..base import Kernel
from ..distance import Distance
from ..lookups.precomputed import Precomputed
from .normalization import Normalizer, finite
from .repair import Repair
from .rounding import centre_of, lowered


class NewSamples:
    """The part of `KernelStack` that is for new samples; the attributes are those of the stack."""

    names: list[str]
    kernels: list[Kernel]
    normalizers: list[Normalizer]
    repairs: list[Repair]
    reference: Views
    support: Views
    rows: np.ndarray
    weight: np.ndarray
    active: np.ndarray

    def measured(self, m: int) -> Kernel:
        """Kernel m as its values are computed: about the mean of its features where centring makes that the same."""
        kernel, normalizer = self.kernels[m], self.normalizers[m]
        if normalizer.needs_gram:  # so that the stack is over all its samples
            normalizer.shift_ = centre_of(kernel, self.reference, self.weight)
        return kernel if normalizer.shift_ is None else lowered(kernel, normalizer.shift_)

    def cross(self, m: int, views: Views, present: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Normalised values of kernel m between new samples (rows) and the training samples (columns).

        Parameters
        ----------
        m : int
        views : Views
            The new samples.
        present : ndarray of bool, shape (n_new,)
            Which of them have the view.
        columns : ndarray of int, optional
            The training samples to compare with, as positions among those kept; all of them by default.
        """
        return self.compare(m, views, present, columns)[0]

    def compare(
        self, m: int, views: Views, present: np.ndarray, columns: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """What `cross` gives, and the normalised k_m(x, x) of each new sample; parameters are those of `cross`."""
        kernel, normalizer, repair = self.measured(m), self.normalizers[m], self.repairs[m]
        rows, support = self.rows, self.support
        everything = normalizer.needs_all_samples
        clipped = repair.is_clipped
        if columns is not None:
            rows = rows[columns]
            support = support if everything or clipped else support.rows(columns)
        reference = self.reference if everything or clipped else support
        if reference.n_samples == 0:  # a model without support vectors
            return np.zeros((views.n_samples, 0)), np.zeros(views.n_samples)
        chosen = slice(None) if everything else rows
        K = finite(lambda: kernel.cross(views, reference), self.names[m])
        raw = kernel.diagonal(views)
        if not repair.trusted:
            K, raw = repair.cross(K, raw, chosen)
        diagonal = normalizer.diagonal(K, raw, present)
        K = normalizer.cross(K, raw, present, chosen)
        return (K[:, rows] if everything else K), diagonal

    def lookups(self, active: np.ndarray) -> list[tuple[Kernel, np.ndarray]]:
        """The precomputed matrices inside the kernels, each with the ids of the samples that prediction compares with.

        Prediction does not look into kernels that are not `active` (a boolean array).
        """
        return [
            found
            for kernel, is_active in zip(self.kernels, active, strict=True)
            for found in kernel.lookups(self.reference if is_active else None)
        ]

    def replace(self, m: int, kernel: Precomputed | Distance) -> None:
        """Put a kernel that is extended by new ids in the place of kernel m; the training samples must agree."""
        old, name = self.kernels[m], self.names[m]
        if type(kernel) is not type(old) or not (kernel.reads_ids and old.reads_ids):
            raise ValueError(
                "only a Precomputed kernel, or a Distance of a matrix, can replace another of its kind, but "
                f"{name!r} is {old!r}"
            )
        new = kernel.bound_like(old)
        if self.active[m] and not np.array_equal(
            new.cross(self.reference, self.reference), old.cross(self.reference, self.reference)
        ):
            raise ValueError(
                f"the new kernel {name!r} has other values among the training samples than the one the model was "
                "fitted with; extend that kernel, or fit again"
            )
        self.kernels[m] = new
