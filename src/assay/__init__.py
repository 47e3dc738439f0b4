"""Reward models, rewards and judges behind one interface."""

from assay._version import __version__

__all__ = ["__version__"]
