"""Kernels in parts: rows between chosen training samples and all of them, on the host or on a device."""
