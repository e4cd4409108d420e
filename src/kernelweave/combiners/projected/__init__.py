"""Kernels of learned projections, thesis chapter 4."""
