"""Training samples: what `compare` and `fit` share."""

from __future__ import annotations

import argparse

from ...files.read import Cohort, read_cohort


def read_training_samples(chosen: argparse.Namespace) -> Cohort:
    """The samples of the files of a call, with their targets.

    Parameters
    ----------
    chosen : Namespace
        The options of `compare` or `fit`.
    """
    return read_cohort(
        chosen.files,
        chosen.target,
        matrices=chosen.kernel,
        groups=chosen.groups,
        id=chosen.id,
        sep=chosen.sep,
        decimal=chosen.decimal,
        encoding=chosen.encoding,
        keep_columns=chosen.keep_column,
    )
