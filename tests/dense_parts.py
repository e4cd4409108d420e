"""Kernels in parts whose matrices are there in whole: `solve_in_parts` is tested on them."""

from functools import cached_property

import numpy as np

from kernelweave.arrays import HOST


class DenseImage:
    """What `DenseParts` keeps of a product: a column for each matrix."""

    def __init__(self, values, of, place):
        self.values, self.of, self.place = values, of, place

    def sums(self):
        """The columns added up, a NumPy array."""
        return self.place.numpy(self.values).sum(axis=1)


class DenseParts:
    """A weighted sum of matrices as a kernel in parts; counts what is computed.

    Images are kept for each matrix, so they stay true when the weights change. `error(rows)` is added to each update of
    an image, as rounding would be.
    """

    def __init__(self, matrices, weights=None, place=HOST, error=None):
        self.matrices = np.asarray(matrices, dtype=float)
        if self.matrices.ndim == 2:
            self.matrices = self.matrices[None]
        self.weights = np.ones(len(self.matrices)) if weights is None else np.asarray(weights, dtype=float)
        self.place, self.error, self.token = place, error, object()
        self.columns, self.blocks, self.targets, self.products = [], [], [], 0

    @cached_property
    def whole(self):
        return np.tensordot(self.weights, self.matrices, 1)

    @property
    def n_samples(self):
        return self.matrices.shape[1]

    @property
    def diagonal(self):
        return self.whole.diagonal().copy()

    def with_weights(self, weights):
        other = DenseParts(self.matrices, weights, self.place, self.error)
        other.token = self.token
        return other

    def block(self, rows):
        self.blocks.append(rows)
        return self.whole[np.ix_(rows, rows)]

    def product(self, rows, columns, coef):
        self.products += 1
        return self.whole[np.ix_(rows, columns)] @ coef

    def zero(self):
        return DenseImage(self.place.asarray(np.zeros((self.n_samples, len(self.matrices)))), self.token, self.place)

    def copy(self, image):
        return DenseImage(self.place.asarray(np.array(self.place.numpy(image.values))), image.of, self.place)

    def add(self, image, rows, change, targets=None):
        self.add_columns([image], rows, change[:, None], targets)

    def add_columns(self, images, rows, change, targets=None):
        assert len(rows) and len(np.unique(rows)) == len(rows) and change.shape == (len(rows), len(images))
        self.columns.append(rows)
        self.targets.append(targets)
        for image, column in zip(images, change.T, strict=True):
            self._add(image, rows, column, targets)

    def _add(self, image, rows, change, targets):
        values = np.array(self.place.numpy(image.values))
        where = np.arange(self.n_samples) if targets is None else targets
        values[where] += (self.matrices[:, where][:, :, rows] @ change).T
        if self.error is not None:
            values[where] += self.error(where)[:, None]
        image.values = self.place.asarray(values)

    def value(self, image, coef):
        assert coef.shape == (self.n_samples,)
        return image.values @ self.place.asarray(self.weights)

    def reuses(self, image):
        return isinstance(image, DenseImage) and image.of is self.token

    def subset(self, index):
        return DenseParts(self.matrices[:, index][:, :, index], self.weights, self.place, self.error)

    # Several columns at once: images of shape (n_samples, n_matrices, n_outputs)

    rounding = 2.0**-52

    @property
    def n_used(self):
        return len(self.matrices)

    def part(self, rows, columns):
        found = self.whole[rows]
        return self.place.asarray(found if columns is None else found[:, columns])

    def times(self, rows, columns, coef):
        K = self.whole if rows is None else self.whole[rows]
        return self.place.asarray((K if columns is None else K[:, columns]) @ self.place.numpy(coef))

    def images(self, coef):
        self.products += 1
        return self.place.asarray(np.einsum("mij,jr->imr", self.matrices, self.place.numpy(coef)))

    def no_images(self, n_outputs):
        return self.place.asarray(np.zeros((self.n_samples, len(self.matrices), n_outputs)))

    def summed(self, images):
        return self.place.asarray(np.einsum("imr,m->ir", self.place.numpy(images), self.weights))

    def column(self, images, output, rows=None):
        return DenseImage(images[:, :, output], self.token, self.place) if rows is None else None

    def joined(self, images):
        if not all(self.reuses(image) for image in images):
            return None
        return self.place.xp.stack([image.values for image in images], axis=-1)
