"""Kernels in parts on a CUDA device: fused programs, prepared features, and what fits into its memory."""
