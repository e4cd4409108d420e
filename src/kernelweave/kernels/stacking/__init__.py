"""The kernels of a model over its training samples: names, Gram matrices, repair, normalisation and memory."""
