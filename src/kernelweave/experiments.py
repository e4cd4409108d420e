"""Tells where the experiments went: they are not part of the library."""

raise ImportError(
    "kernelweave.experiments has moved: Comparison, ComparisonOutcome, Contender and Problem are in "
    "kernelweave.compare, the rest in the package experiments of the repository (in a clone: python -m experiments)"
)
