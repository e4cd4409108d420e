"""Where arrays live: the namespace of the array API in use, and the device."""

from .place import HOST, Place, chosen_place, place_of, precision_of, torch_place

__all__ = ["HOST", "Place", "chosen_place", "place_of", "precision_of", "torch_place"]
