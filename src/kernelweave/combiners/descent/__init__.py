"""Kernel families, and the descent that finds their parameters."""
