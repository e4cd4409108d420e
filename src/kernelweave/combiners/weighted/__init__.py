"""Weighted sums of kernels: the combined kernel itself, fixed weights, and weights by each kernel's own performance."""
