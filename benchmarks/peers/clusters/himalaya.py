"""Regressions only: every model is fitted to targets, and there is no clustering."""
