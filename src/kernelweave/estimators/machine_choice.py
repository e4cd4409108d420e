"""The loss behind the parameter ``machine`` of an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._parameters import is_choice, shown
from ..machines import Loss


def chosen_loss(machine: Any, by_name: Mapping[str, Loss], has_classes: bool) -> Any:
    """The loss that ``machine`` names or is, or one error.

    Parameters
    ----------
    machine : str or Loss
        The user's choice.
    by_name : mapping from str to Loss
        The losses that have a name.
    has_classes : bool
        Whether the estimator needs a loss for classes, else for numbers.
    """
    if is_choice(machine, by_name):
        return by_name[machine]
    if isinstance(machine, Loss) and machine.has_classes == has_classes:
        return machine
    wanted = "BinaryLoss" if has_classes else "RegressionLoss"
    raise ValueError(f"machine must be one of {list(by_name)} or a {wanted} object, not {shown(machine)}")
