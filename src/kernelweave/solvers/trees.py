"""`add_leaves`: the values of the leaves that samples reach in many decision trees, added up."""

from __future__ import annotations

import numpy as np

from .compiled import compiled


@compiled
def add_leaves(X, roots, first, left, right, reads, threshold, missing_left, values, sums):
    """Add to `sums` (n_samples, n_outputs), for each sample and tree, the values of the leaf that the sample reaches.

    A sample goes left where its feature is at most the node's threshold, and where the feature is missing (NaN) to the
    side that the node has for missing ones. Children stand behind their parents, so each way ends. A tree begins at
    a node of `roots`, and its leaves have values for the columns of `sums` from `first` on; `left` and `right` are the
    children of a node, -1 for a leaf; `reads` is the feature that a node compares, of a leaf its row in `values`
    (n_leaves, n_values).
    """
    n_values = values.shape[1]
    for tree in range(len(roots)):
        for i in range(len(X)):
            node = roots[tree]
            while left[node] >= 0:
                x = X[i, reads[node]]
                goes_left = missing_left[node] if np.isnan(x) else x <= threshold[node]
                node = left[node] if goes_left else right[node]
            for k in range(n_values):
                sums[i, first[tree] + k] += values[reads[node], k]
