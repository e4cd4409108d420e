"""Localized multiple kernel learning: a gating model gives each sample weights of its own, thesis chapter 3."""
