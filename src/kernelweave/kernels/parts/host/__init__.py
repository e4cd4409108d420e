"""Kernels in parts on the host: products, blocks and rows in tiles, over threads."""
