"""Combined kernels with explicit features."""
