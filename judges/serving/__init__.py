"""Rewards and judges over HTTP: what `assay serve` runs. Only `app` loads FastAPI."""

from assay.judges.serving.config import ServeConfig

__all__ = ["ServeConfig"]
