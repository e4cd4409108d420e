"""Weights from how similar each kernel is to the targets, thesis section 2.3."""
