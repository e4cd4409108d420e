"""``kernelweave compare``: methods on people's own data under nested cross-validation, and which of them to use."""
