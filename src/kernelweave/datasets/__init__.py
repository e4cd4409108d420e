"""Data sets: the embedded MULTIFEAT digits, the papers' sets from a data home, and the toy problems of Gönen's PhD
thesis (Boğaziçi University, 2010)."""

from .loading import list_datasets, load_dataset, load_multifeat
from .toy import gauss_posterior, make_gauss, make_local_projection_toy

__all__ = [
    "gauss_posterior",
    "list_datasets",
    "load_dataset",
    "load_multifeat",
    "make_gauss",
    "make_local_projection_toy",
]
