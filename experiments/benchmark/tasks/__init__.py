"""Tasks of the benchmark beside classification, each with methods, data sets and scores of its own: see `task`."""
