"""Tables of the paper on subspace kernels and feature extraction (SKFE)."""
