"""Kernels of points that are learned: projected samples, and landmarks, with derivatives by the points."""
