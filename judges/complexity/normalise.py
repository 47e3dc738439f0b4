"""Programs without what must not count: comments, strings, names, white space."""

from __future__ import annotations

from assay.judges.complexity.stripping import strip

__all__ = ["strip"]
