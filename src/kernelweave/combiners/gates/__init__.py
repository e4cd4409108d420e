"""Gating models, and what they read of a sample, thesis section 3.1."""
