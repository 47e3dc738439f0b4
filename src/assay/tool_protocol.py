"""The contract of tool-call readers, and the fault that a malformed call is reported by."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from assay.messages import ToolCall


@dataclass(frozen=True, slots=True)
class ParsedTurn:
    """What a turn says and what it calls.

    Attributes:
        text: What is left for the reader of the answer, without the calls.
        calls: The calls in order, malformed ones among them.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()

    __hash__ = None  # type: ignore[assignment]


class Protocol(ABC):
    """How a model writes tool calls, and where their results come back.

    Attributes:
        name: For configurations and messages.
        special_tokens: Markers of the protocol that may not be left in a turn's text once its calls
            are taken out.
    """

    name: str
    special_tokens: tuple[str, ...] = ()

    @abstractmethod
    def parse(self, text: str) -> ParsedTurn:
        """Read one assistant turn."""

    @abstractmethod
    def render_call(self, call: ToolCall) -> str:
        """The text of a call; `parse` reads it back."""

    @abstractmethod
    def results(self, text: str) -> tuple[str, ...]:
        """The tool results in a user turn; none if it is a real user's."""

    @abstractmethod
    def render_result(self, text: str) -> str:
        """The user turn that hands back one result; `results` reads it back."""

    def fingerprint(self) -> str:
        """What changes a reading: the class and its name. Override it if there are settings."""
        kind = type(self)
        return f"{kind.__module__}.{kind.__qualname__}:{self.name}"


class CallFault(Exception):
    """Raised inside a reader: what is wrong with one call, where, and what could be read of it."""

    def __init__(self, message: str, offset: int, call: ToolCall | None = None) -> None:
        super().__init__(message)
        self.offset = offset
        self.call = call if call is not None else ToolCall("", None)
