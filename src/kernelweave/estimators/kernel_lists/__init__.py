"""The list of kernels of an estimator: their parameters by name, some of them left out, and sharing between fits."""
