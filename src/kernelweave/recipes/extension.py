"""New samples of similarity matrices: `extended`, which `CohortModel.extend_kernels` calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ..kernels.precomputed import as_text
from ..validation import shown


def extended(model: Any, blocks: Any, diagonal: Any) -> pd.DataFrame:
    if not isinstance(blocks, Mapping) or not blocks:
        raise ValueError(f"extend_kernels needs a dict from names of matrices to blocks, not {shown(blocks)}")
    inner = model.model_
    matrices = inner.matrices if hasattr(inner, "matrices") else _matrices(inner)
    read = {name: block for name, block in blocks.items() if name in matrices}
    names = getattr(model, "feature_names_in_", np.array([], dtype=object))
    unknown = [name for name in blocks if name not in names]
    if unknown:
        raise ValueError(
            f"the model was fitted without a similarity matrix {unknown[0]!r}; its columns are {list(names)}"
        )
    index = None
    ids: dict[str, Any] = {}
    if read:
        known = {name: _known_diagonal(matrices[name], block, diagonal, name) for name, block in read.items()}
        found = inner.extend_kernels(read, {name: own for name, own in known.items() if own is not None} or None)
        index, ids = found.index, {name: found[name] for name in read}
    for name, block in blocks.items():
        if name not in read:
            own = pd.Series(np.asarray(block.index), index=block.index, dtype=object)
            ids[name] = own
            index = block.index if index is None else index.union(block.index, sort=False)
    columns = {name: ids[name].reindex(index) if name in ids else np.nan for name in names}
    return pd.DataFrame(columns, index=index).reindex(columns=list(names))


def _matrices(model: Any) -> dict[str, Any]:
    pairs = zip(getattr(model, "kernel_names_", []), getattr(model, "kernels_", []), strict=True)
    return {name: kernel for name, kernel in pairs if kernel.reads_ids}


def _known_diagonal(matrix: Any, block: Any, diagonal: Any, name: str) -> Any:
    given = diagonal.get(name) if isinstance(diagonal, Mapping) else diagonal
    if given is not None:
        return given
    if isinstance(block, pd.DataFrame):
        columns = set(as_text(block.columns.to_numpy(), "columns"))
        if set(as_text(block.index.to_numpy(), "rows")) <= columns:
            return None
    own = np.asarray(matrix.self_similarity)[: len(matrix.K)]
    own = own[np.isfinite(own)]
    return float(own[0]) if len(own) and np.allclose(own, own[0], rtol=1e-9, atol=0.0) else None
