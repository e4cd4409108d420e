"""`Place`: a namespace of the array API and a device, with the few operations that the standard lacks.

Code that computes in several places takes a `Place` and uses ``place.xp``, the functions of the array API
(https://data-apis.org/array-api), on arrays that ``place.asarray`` made. NumPy on the host is `HOST`; torch is another.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import array_api_compat
import numpy as np

from ._extras import optional

__all__ = ["HOST", "Place", "chosen_place", "place_of", "precision_of", "torch_place"]

DEVICES = ("cpu", "cuda", "auto")
PINNED_BYTES = 2**20  # smaller arrays go to a CUDA device directly


class Place:
    """A namespace of the array API and a device.

    Parameters
    ----------
    xp : module
        A namespace of the array API.
    device : device or None
        Of that namespace; None is its default.
    precise : bool
        Whether products of float32 are exact to float32. Else kernels in tiles round features to TF32 where faster.

    Attributes
    ----------
    is_host : bool
        Whether arrays are NumPy's own, so that compiled functions can read them.
    is_torch : bool
        Whether arrays are torch's tensors.
    is_cuda : bool
        Whether they are on a CUDA device.

    Examples
    --------
    >>> from kernelweave.arrays import HOST
    >>> values = HOST.asarray([3.0, 1.0, 2.0])
    >>> HOST.numpy(HOST.xp.sum(values)).item(), sorted(HOST.largest(values, 2).tolist())
    (6.0, [0, 2])
    """

    def __init__(self, xp: Any, device: Any = None, *, precise: bool = False):
        self.xp, self.device, self.precise = xp, device, precise
        self.is_host = array_api_compat.is_numpy_namespace(xp)
        self.is_torch = array_api_compat.is_torch_namespace(xp)
        self.is_cuda = self.is_torch and getattr(device, "type", None) == "cuda"

    def __repr__(self) -> str:
        return f"Place({self.xp.__name__}, {self.device})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Place) or self.precise != other.precise:
            return False
        return self.xp is other.xp and str(self.device) == str(other.device)

    def __hash__(self) -> int:
        return hash((self.xp.__name__, str(self.device), self.precise))

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _restored, (self.xp.__name__, None if self.device is None else str(self.device), self.precise)

    def precisely(self) -> Place:
        """The same place, where products of float32 are exact to float32."""
        return self if self.is_host else Place(self.xp, self.device, precise=True)

    def asarray(self, values: Any, dtype: str | None = None) -> Any:
        """An array of this place with the numbers of a NumPy array, in a type such as "float32"."""
        if self.is_host:
            return np.asarray(values, dtype=None if dtype is None else np.dtype(dtype))
        wanted = None if dtype is None else getattr(self.xp, dtype)
        if isinstance(values, np.ndarray) or (not hasattr(values, "__array_namespace__") and not self._is_own(values)):
            values = np.asarray(values)
            if not values.flags.writeable or any(step < 0 for step in values.strides):  # torch reads no such arrays
                values = values.copy()
            found = self._moved(values) if self.is_cuda else self.xp.asarray(values, device=self.device)
        else:
            found = self.xp.asarray(values, device=self.device)
        return found if wanted is None else self.xp.astype(found, wanted, copy=False)

    def _moved(self, values: np.ndarray) -> Any:
        """A NumPy array on a CUDA device, without waiting for what the device was given before.

        Large ones pass through memory that the device reaches by itself, where several threads copy them to.
        """
        torch = import_module("torch")
        source = torch.from_numpy(values)
        if values.nbytes > PINNED_BYTES:
            source = torch.empty(values.shape, dtype=source.dtype, pin_memory=True).copy_(source)
        return source.to(self.device, non_blocking=True)

    def _is_own(self, values: Any) -> bool:
        return self.is_torch and array_api_compat.is_torch_array(values)

    def numpy(self, values: Any) -> np.ndarray:
        """The numbers of an array of this place as a NumPy array."""
        if self.is_host:
            return values
        if not self.is_torch:
            return np.asarray(values)
        if not self.is_cuda:
            return values.detach().numpy()
        # Memory that the device reaches by itself is several times faster; torch keeps it for the next time.
        target = import_module("torch").empty(tuple(values.shape), dtype=values.dtype, pin_memory=True)
        return target.copy_(values.detach()).numpy()

    def zeros(self, shape: int | tuple[int, ...], dtype: str = "float64") -> Any:
        """Zeros in a type such as "float64"."""
        return self.xp.zeros(shape, dtype=getattr(self.xp, dtype), device=self.device)

    def positions(self, index: Any) -> Any:
        """Positions, a NumPy array of int, as an index of arrays of this place."""
        return index if self.is_host or self._is_own(index) else self.asarray(np.asarray(index, dtype=np.int64))

    def take(self, values: Any, index: np.ndarray | None, axis: int = 0) -> Any:
        """The values at some positions along an axis; the array itself for None."""
        if index is None:
            return values
        if self.is_torch:
            return values.index_select(axis, self.positions(index))
        return self.xp.take(values, self.positions(index), axis=axis)

    def put(self, values: Any, index: np.ndarray | None, new: Any) -> None:
        """Write `new` to the first axis of an array at some positions (all for None), in place."""
        if index is None:
            values[...] = new
        elif self.is_host or self.is_torch:
            values[self.positions(index)] = new
        else:  # the standard has no assignment at positions
            changed = np.array(values)
            changed[index] = np.asarray(new)
            values[...] = self.asarray(changed)

    def add(self, values: Any, index: np.ndarray | None, new: Any) -> None:
        """Add `new` to the first axis of an array at some positions (all for None), each given once, in place."""
        if index is None:
            values += new
        elif self.is_torch:
            values.index_add_(0, self.positions(index), new)
        else:
            self.put(values, index, self.take(values, index) + new)

    def largest(self, values: Any, count: int) -> np.ndarray:
        """Positions of the `count` largest values, in no particular order, as a NumPy array."""
        if count >= values.shape[0]:
            return np.arange(values.shape[0])
        if self.is_host:
            return np.argpartition(-values, count)[:count]
        if self.is_torch:
            return self.numpy(self.xp.topk(values, count, sorted=False)[1])
        return self.numpy(self.xp.argsort(values, descending=True)[:count])

    def best(self, values: Any, count: int) -> tuple[Any, Any]:
        """Positions that `largest` finds, and the values there, as arrays of this place."""
        if self.is_torch:
            largest, found = self.xp.topk(values, min(count, values.shape[0]), sorted=False)
            return found, largest
        found = self.positions(self.largest(values, count))
        return found, self.take(values, found)

    def top(self, values: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The same as NumPy arrays."""
        return self.pairs([self.best(values, count)])

    def pairs(self, found: list[tuple[Any, Any]]) -> tuple[np.ndarray, np.ndarray]:
        """Positions and values, one after the other, as NumPy arrays, in one transfer."""
        if not self.is_torch:
            joined = [np.concatenate([self.numpy(each) for each in part]) for part in zip(*found, strict=True)]
            return joined[0].astype(np.int64), joined[1]
        parts = [self.xp.stack([rows.double(), values.double()]) for rows, values in found]
        both = self.numpy(self.xp.concat(parts, axis=1))  # positions are below 2^53
        return both[0].astype(np.int64), both[1]

    def free_memory(self) -> int | None:
        """Free memory of a CUDA device in bytes, with what torch holds unused; None for other places."""
        if not self.is_cuda:
            return None
        cuda = import_module("torch").cuda
        unused = cuda.memory_reserved(self.device) - cuda.memory_allocated(self.device)
        return int(cuda.mem_get_info(self.device)[0]) + int(unused)

    def synchronize(self) -> None:
        """Wait until everything that the device was given is done, as timings must."""
        if self.is_cuda:
            import_module("torch").cuda.synchronize(self.device)


HOST = Place(array_api_compat.array_namespace(np.empty(0)))


def torch_place(device: str = "cpu") -> Place:
    """torch's tensors on a device of torch, such as "cpu" or "cuda".

    Examples
    --------
    >>> from kernelweave.arrays import torch_place
    >>> place = torch_place("cpu")  # doctest: +SKIP
    """
    torch = optional("torch", f"for device={device!r}", "torch")
    return Place(import_module("array_api_compat.torch"), torch.device(device))


def chosen_place(device: str) -> Place:
    """The place of a parameter `device`: "cpu", "cuda", or "auto" for cuda where there is one.

    Raises
    ------
    ImportError
        Where device is "cuda" and torch is missing, with the command that installs it.
    ValueError
        Where torch finds no such device, and for other names.

    Examples
    --------
    >>> from kernelweave.arrays import HOST, chosen_place
    >>> chosen_place("cpu") is HOST
    True
    """
    if not isinstance(device, str) or device not in DEVICES:
        raise ValueError(f"device must be one of {', '.join(map(repr, DEVICES))}, but it is {device!r}")
    if device == "cpu":
        return HOST
    try:
        place = torch_place("cuda")
    except ImportError:
        if device == "auto":
            return HOST
        raise
    torch = import_module("torch")
    if torch.cuda.is_available():
        return place
    if device == "auto":
        return HOST
    raise ValueError(
        f'device="cuda", but torch {torch.__version__} finds no CUDA device here; install a driver and a build of '
        'torch for it, or use device="cpu", or device="auto", which takes a CUDA device where there is one'
    )


def _restored(namespace: str, device: str | None, precise: bool = False) -> Place:
    """The place that was pickled, or the host where there is no such place any more."""
    if namespace == HOST.xp.__name__:
        return HOST
    try:
        place = Place(import_module(namespace), device, precise=precise)
        if not place.is_torch:
            return place
        place = torch_place(str(device))
    except ImportError:
        return HOST
    gone = place.is_cuda and not import_module("torch").cuda.is_available()
    return HOST if gone else place.precisely() if precise else place


def place_of(array: Any) -> Place:
    """The place of an array.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.arrays import HOST, place_of
    >>> place_of(np.ones(3)) is HOST
    True
    """
    if isinstance(array, np.ndarray):
        return HOST
    return Place(array_api_compat.array_namespace(array), array_api_compat.device(array))


def precision_of(array: Any) -> str:
    """ "float32" or "float64", the type of an array; "float64" for arrays of integers.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.arrays import precision_of
    >>> precision_of(np.ones(3, dtype="float32")), precision_of(np.arange(3))
    ('float32', 'float64')
    """
    name = str(array.dtype).rpartition(".")[2]
    return name if name.startswith("float") else "float64"
