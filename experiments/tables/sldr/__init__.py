"""Tables of the paper on supervised and localized dimensionality reduction (SLDR)."""
