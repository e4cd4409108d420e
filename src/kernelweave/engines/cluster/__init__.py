"""Training samples and their features on the workers of a Dask cluster.

Dask is an extra (``pip install kernelweave[dask]``) and is imported only where a Dask collection is at hand.
"""

from .collections import is_dask
from .engine import OnDask
from .lazy import lazily
from .reading import rows_on_dask

__all__ = ["OnDask", "is_dask", "lazily", "rows_on_dask"]
