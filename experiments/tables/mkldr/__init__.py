"""Table 1 of the paper on multiple kernel learning for dimensionality reduction (MKL-DR)."""
