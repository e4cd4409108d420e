"""`save` and `load`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._version import __version__
from ..estimators.base import DEVICES, DecisionValues
from ..estimators.fitted import lookups_of
from ..features import Approximation
from ..features.exact import TransformerMap
from ..kernels import Precomputed, ViewKernel
from ..kernels.base import n_features_of
from ..kernels.preparation import Preparation
from ..validation import check
from ..validation.schemas import is_own, object_of
from ..views import Views
from .archive import read_archive, write_archive
from .atomic import replace_file
from .codecs import Decoder, Encoder, NotSavableError
from .registry import ESTIMATORS, given_classes, is_registered, name_in_files, needed_classes
from .transformers import Description, as_operation, described

_ALL_COLUMNS = "preparation of all columns"


def save(model: Any, path: str | os.PathLike) -> None:
    """Save a fitted model to a file that any later `load` can read and that holds no code.

    The file is a zip of plain arrays and one JSON document, with a checksum for each. It keeps what prediction needs:
    support vectors, and of them only the columns that kernels with a weight use, constants, and of each `Precomputed`
    kernel the similarities to support vectors and the diagonal. With ``normalize="center"`` all training samples count
    as support vectors.

    Transformers of kernels (``Linear("rna", transformer=StandardScaler())``) are saved as operations on arrays of
    kernelweave's own: scikit-learn's `StandardScaler`, `MinMaxScaler`, `RobustScaler`, `MaxAbsScaler`, `Normalizer`,
    `SimpleImputer`, `KNNImputer`, `OneHotEncoder`, `OrdinalEncoder`, `CountVectorizer`, `TfidfVectorizer`,
    `TfidfTransformer`, `PCA`, `TruncatedSVD`, and each `Pipeline` or `ColumnTransformer` of these. Others, and those
    with functions among their parameters, are refused by name; pickle such models.

    Parameters
    ----------
    model : MKLClassifier, MKLRegressor, MKLOneClass, or another estimator or transformer of kernelweave
        Fitted. Kernels, view selectors and other parameters that are functions are saved by name. So are kernels,
        gates, combiners and machines of your own classes, each with its attributes. These must be plain data: numbers,
        text, arrays, lists, dicts, and objects of kernelweave. Anything else is refused, with an error that names it.
    path : str or path
        Replaced as a whole once the new file is complete; where saving fails or the process is killed, what was there
        stays. A file that is there keeps its permissions (and owner, where that can be had); a new one gets those that
        the umask gives. A symbolic link stays, and the file that it leads to is replaced.

    Raises
    ------
    NotFittedError
        Where the model is not fitted.
    ValueError
        Where it is no such model or a parameter cannot be saved; the message names the parameter.
    OSError
        Where the path is no regular file (a directory, device or pipe), is write-protected, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelweave import MKLClassifier, load, save
    >>> model = MKLClassifier().fit([[1.0], [2.0], [5.0], [6.0]], ["low", "low", "high", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "model.kw")
    ...     again = load(Path(folder) / "model.kw")
    >>> bool((again.decision_function([[4.0]]) == model.decision_function([[4.0]])).all())
    True
    """
    if not _is_model(model):
        raise ValueError(
            f"save takes a fitted model ({', '.join(ESTIMATORS)}), not an object of the class {type(model).__name__}; "
            "of a pipeline or search, save the model inside it"
        )
    check_is_fitted(model)
    columns, preparations = _SupportColumns(model), _Preparations()
    encoder = Encoder(lambda value: preparations(columns(value)))
    encoder.value(model, type(model).__name__)
    content = {"kernelweave": __version__, "callables": list(encoder.callables), "rows": encoder.rows}
    if encoder.classes:
        content["classes"] = list(encoder.classes)
    replace_file(path, lambda file: write_archive(file, encoder.arrays, content))


def load(
    path: str | os.PathLike,
    callables: Mapping[str, Callable] | None = None,
    *,
    classes: Iterable[type] | None = None,
    device: str = "cpu",
) -> Any:
    """Load a model that `save` wrote.

    Nothing in the file is run: it can name classes of kernelweave and transformers of scikit-learn, from a fixed list,
    and the classes that you give, but no others. Predictions are those of the saved model, bit by bit on the same
    machine and library versions.

    A `Precomputed` kernel has the ids that it had when the model was saved; further ids come through `extend_kernels`
    as before (with similarities to all ids, or to ``columns_kept`` only), but fitting again needs the whole matrix. The
    `transformer_` of a loaded kernel is an operation on arrays that gives what the fitted transformer gave;
    `transformer` is scikit-learn's transformer again, with which the loaded model can be fitted anew.

    Parameters
    ----------
    path : str or path
    callables : mapping from name to callable, optional
        The functions that the model was made with (kernels, view selectors), by their ``__name__``; other callable
        objects by the name of their class.
    classes : list of classes, optional
        Your own kernels, gates, combiners and machines that the model was made with, each derived from the base class
        of its kind. They are found by name, and for this call only. Their attributes are set as the file has them,
        without a call of the class: give classes that can do with any values, or load only files that you trust.
    device : {"cpu", "cuda", "auto"}
        The parameter `device` of the loaded model, and of all models inside it: files hold no device. Models without
        that parameter take "cpu" and "auto" only.

    Returns
    -------
    MKLClassifier, MKLRegressor, MKLOneClass, or another estimator or transformer of kernelweave

    Raises
    ------
    FileNotFoundError
    ValueError
        Where the file is no saved model, is damaged or cut short, was written in a newer format, or a callable or a
        class is missing; the message names it. Also where an entry of `classes` is no such class, or two have one name.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kernelweave import MKLClassifier, load, save
    >>> def overlap(A, B):
    ...     return (A[:, None, :] * B[None, :, :]).sum(axis=2)
    >>> model = MKLClassifier([overlap]).fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "model.kw")
    ...     load(Path(folder) / "model.kw", callables={"overlap": overlap}).predict([[0.0, 2.0]])
    array([1])

    A kernel of one's own:

    >>> from kernelweave.kernels import Polynomial
    >>> class Cubic(Polynomial):
    ...     def __init__(self, view=None):
    ...         super().__init__(view=view, degree=3)
    >>> model = MKLClassifier([Cubic()]).fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "model.kw")
    ...     load(Path(folder) / "model.kw", classes=[Cubic]).predict([[0.0, 2.0]])
    array([1])
    """
    given = given_classes(classes)
    check("load", "device", device, DEVICES)
    with open(path, "rb") as file:
        try:
            arrays, document = read_archive(file)
            functions = _checked_callables(document["callables"], callables or {})
            decoder = Decoder(arrays, functions, needed_classes(document.get("classes", []), given))
            model = decoder.model(document["rows"])
            if not _is_model(model):
                raise ValueError("it holds no model")
            object_of(type(model))(model, {}, type(model).__name__)
            decoder.unpack()
            check_is_fitted(model)
        except MemoryError:
            raise
        except ValueError as error:
            raise ValueError(f"cannot load {os.fspath(path)!r}: {error}") from error
        except Exception as error:  # any error that a damaged file leads to
            raise ValueError(f"cannot load {os.fspath(path)!r}: it is damaged ({error!r})") from error
    models = [value for value in decoder.values if isinstance(value, DecisionValues)]
    if device == "cuda" and not models:
        raise ValueError(f'a {type(model).__name__} predicts on the CPU; load it with device="cpu"')
    for each in models:
        each.device = device
    return model


def _is_model(value: Any) -> bool:
    return is_registered(type(value)) and name_in_files(type(value)) in ESTIMATORS


class _SupportColumns:
    """Replace each precomputed kernel of a model by one with the columns that prediction looks up.

    Kernels that share a matrix (the parameter and its fitted copy), or have equal ones, share the smaller one too. A
    matrix that prediction does not look up stays whole.
    """

    def __init__(self, model: Any):
        self._matrices: list[Any] = []
        self._ids: list[np.ndarray] = []
        self._place: dict[int, int] = {}
        for kernel, ids in lookups_of(model):
            place = self._place_of(kernel)
            self._ids[place] = np.union1d(self._ids[place], ids)

    def _place_of(self, kernel: Any) -> int:
        if id(kernel.K) not in self._place:
            equal = (place for place, other in enumerate(self._matrices) if kernel.equals(other))
            place = next(equal, len(self._matrices))
            if place == len(self._matrices):
                self._matrices.append(kernel)
                self._ids.append(np.empty(0, dtype=np.int64))
            self._place[id(kernel.K)] = place
        return self._place[id(kernel.K)]

    def __call__(self, value: Any) -> Any:
        if isinstance(value, Precomputed) and id(value.K) in self._place:
            return value.with_columns(self._ids[self._place[id(value.K)]])
        return value


class _Preparations:
    """Replace the transformers of each kernel by what a file holds of them.

    The fitted one becomes an operation, and the one that the kernel was given a description. A transformer that kernels
    share is replaced by one object.
    """

    def __init__(self) -> None:
        self._fitted: dict[int, Preparation] = {}
        self._given: dict[int, Description] = {}

    def __call__(self, value: Any) -> Any:
        changes = self._changes(value)
        if not changes:
            return value
        saved = copy(value)
        vars(saved).update(changes)
        return saved

    def _changes(self, value: Any) -> dict[str, Any]:
        name = type(value).__name__ if is_own(type(value)) else None
        if isinstance(value, Views):
            return self._points(value) if value.holds_points else {}
        if name == "Design":
            operation = as_operation(value.transformer, _ALL_COLUMNS, value.n_in)
            return {"transformer": operation, "kind": replace(value.kind, dtypes={})}
        if name == "ColumnModel":
            given = value.preparation
            return {} if given is None else {"preparation": described(given, _ALL_COLUMNS, self._given)}
        if isinstance(value, TransformerMap):
            where = f"approximation of the kernel {value.label!r}"
            return {"preparation": self._of(value.preparation, where, n_features_of(value.kernel))}
        if "approximation" in vars(value):
            return {"approximation": self._approximation(value.approximation, "approximation")}
        if not isinstance(value, ViewKernel) or value.transformer is None:
            return {}
        where = f"kernel {vars(value).get('label_', value.name)!r}: transformer"
        changes: dict[str, Any] = {"transformer": described(value.transformer, where, self._given)}
        if value.preparation_ is not None:
            changes["preparation_"] = self._of(value.preparation_, where, len(value.columns_))
        return changes

    def _approximation(self, given: Any, where: str) -> Any:
        if isinstance(given, Mapping):
            return {name: self._approximation(each, f"{where}[{name!r}]") for name, each in given.items()}
        is_plain = given is None or isinstance(given, str | Approximation)
        return given if is_plain else described(given, where, self._given)

    def _points(self, views: Views) -> dict[str, Any]:
        """Points as an attribute: pairs of what prepares a kernel's view and the points' features."""
        points = views.prepared_points()
        if any(id(key) not in self._fitted for key, _ in points):
            raise NotSavableError("holds points among the features of no kernel before it, which cannot be saved")
        return {"points": [(self._fitted[id(key)], values) for key, values in points]}

    def _of(self, preparation: Preparation, where: str, width: int) -> Preparation:
        if id(preparation) not in self._fitted:
            self._fitted[id(preparation)] = Preparation(
                as_operation(preparation.transformer, where, width),
                # Operations need no types of data frames: equal categories, numbers and texts are alike to them.
                replace(preparation.kind, dtypes={}),
                documents=preparation.documents,
                n_features=preparation.n_features,
            )
        return self._fitted[id(preparation)]


def _checked_callables(names: Any, given: Mapping[str, Callable]) -> dict[str, Callable]:
    for name in names:
        if name not in given:
            raise ValueError(
                f"it needs the callable {name!r}, which is saved by name only; pass load(path, "
                f"callables={{{name!r}: ...}}) with the function that the model was made with"
            )
        if not callable(given[name]):
            raise ValueError(f"callables[{name!r}] is {given[name]!r}, which cannot be called")
    return {name: given[name] for name in names}
