"""`Place`: a namespace of the array API and a device, with the few operations that the standard lacks.

Code that computes in several places takes a `Place` and uses ``place.xp``, the functions of the array API
(https://data-apis.org/array-api), on arrays that ``place.asarray`` made. NumPy on the host is `HOST`; torch is one more
namespace.
"""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np


class Place:
    """A namespace of the array API and a device.

    Parameters
    ----------
    xp : module
        A namespace of the array API.
    device : device or None
        Of that namespace; None is its default.

    Examples
    --------
    >>> from kernelweave.arrays import HOST
    >>> values = HOST.asarray([3.0, 1.0, 2.0])
    >>> HOST.numpy(HOST.xp.sum(values)).item(), HOST.largest(values, 2).tolist()
    (6.0, [0, 2])
    """

    def __init__(self, xp: Any, device: Any = None):
        self.xp, self.device = xp, device

    def __reduce__(self) -> Any:
        """A copy of the host's place is that place: modules cannot be pickled."""
        return "HOST" if self.is_host else super().__reduce__()

    @property
    def is_host(self) -> bool:
        """Whether arrays are NumPy's own, so that compiled functions can read them."""
        return array_api_compat.is_numpy_namespace(self.xp)

    def asarray(self, values: Any, dtype: str | None = None) -> Any:
        """An array of this place with the numbers of a NumPy array, in a type such as "float32"."""
        wanted = None if dtype is None else getattr(self.xp, dtype)
        if self.is_host:
            return np.asarray(values, dtype=wanted)
        return self.xp.asarray(np.ascontiguousarray(values), dtype=wanted, device=self.device)

    def numpy(self, values: Any) -> np.ndarray:
        """The numbers of an array of this place as a NumPy array."""
        if self.is_host:
            return values
        if array_api_compat.is_torch_array(values):
            return values.detach().cpu().numpy()
        return np.asarray(values)

    def largest(self, values: Any, count: int) -> np.ndarray:
        """Positions of the `count` largest values, in no particular order, as a NumPy array."""
        if self.is_host:
            return np.argpartition(values, len(values) - count)[len(values) - count :]
        if array_api_compat.is_torch_namespace(self.xp):
            return self.numpy(self.xp.topk(values, count, sorted=False)[1])
        return self.numpy(self.xp.argsort(values, descending=True)[:count])


HOST = Place(array_api_compat.array_namespace(np.empty(0)))


def chosen_place(device: str) -> Place:
    """The place of a parameter `device`: "cpu", "cuda", or "auto" for cuda where there is one.

    Raises
    ------
    ImportError
        Where torch is missing, with the command that installs it.
    ValueError
        Where torch has no such device.
    """
    if device == "cpu":
        return HOST
    raise NotImplementedError(device)
