"""Kernels that are given as matrices: samples are looked up by id or label, new ones come as blocks."""
