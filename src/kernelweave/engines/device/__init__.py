"""Blocks of samples on a device: features that are held there, or computed again in each pass."""

from .engine import OnDevice, blocks_on_device

__all__ = ["OnDevice", "blocks_on_device"]
