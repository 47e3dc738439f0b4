"""Prompts as text with places to fill: filled in one pass, so that no filled-in text is filled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from assay.errors import ConfigError

_PLACE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A prompt with places such as `{answer}`.

    Args:
        text: The prompt. Braces around anything but a-z and `_` stand for themselves.
        needed: Names that must occur.
        optional: Names that may.

    Raises:
        ConfigError: A place is missing or unknown.

    >>> prompt = PromptTemplate('Is {answer} right? {"verdict": ...}', ("answer",))
    >>> prompt.fill(answer="{answer}")
    'Is {answer} right? {"verdict": ...}'
    """

    text: str
    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        found, needed = set(_PLACE.findall(self.text)), set(self.needed)
        missing, unknown = needed - found, found - needed - set(self.optional)
        if missing or unknown:
            raise ConfigError(
                f"this prompt must hold the places {sorted(needed)} and may hold "
                f"{sorted(self.optional)}; missing: {sorted(missing)}, unknown: {sorted(unknown)}"
            )

    def fill(self, **values: str) -> str:
        """The prompt with every place filled."""
        return _PLACE.sub(lambda match: values[match[1]], self.text)


@cache
def shipped_prompt(name: str) -> str:
    """The text of that name that this package brings."""
    return files("assay.judges").joinpath(f"prompts/{name}.txt").read_text("utf-8")
