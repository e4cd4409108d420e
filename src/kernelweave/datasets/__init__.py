"""Data sets: the embedded MULTIFEAT digits and generators of the thesis' toy problems."""

from .multifeat import load_multifeat
from .toy import gauss_posterior, make_gauss, make_local_projection_toy

__all__ = ["gauss_posterior", "load_multifeat", "make_gauss", "make_local_projection_toy"]
