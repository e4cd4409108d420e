"""Learned projections on explicit features: `Projected`."""
