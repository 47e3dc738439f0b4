"""A program to be judged."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Program:
    """Source text and what runs in it.

    Attributes:
        source: The whole program, or a function.
        language: One of python, c, cpp, java, javascript, go, rust.
        entry: The function that is called, or None for the whole program (its main).
    """

    source: str
    language: str
    entry: str | None = None
