"""Requests of the server's own endpoints, as pydantic reads them and OpenAPI shows them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from assay.errors import DataError
from assay.judge import Item, Pair
from assay.messages import Sample, as_messages

Conversation = str | list[dict[str, Any]]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SampleBody(_Body):
    """A completion to be scored."""

    completion: Conversation = Field(description="Text, or messages in OpenAI's form.")
    prompt: Conversation = Field(default="", description="Text, or messages.")
    columns: dict[str, Any] = Field(
        default_factory=dict, description="The dataset row: tests, reference, uid, ..."
    )
    completion_ids: list[int] | None = None
    truncated: bool | None = Field(default=None, description="Cut at the length limit.")

    def sample(self) -> Sample:
        """As rewards read it."""
        return Sample.of(
            self.prompt or (),
            self.completion,
            self.columns,
            completion_ids=self.completion_ids,
            truncated=self.truncated,
        )


class ScoreRequest(_Body):
    """Samples for a reward; a group-scoped one needs whole groups, told apart by column `uid`."""

    samples: list[SampleBody]


class PairBody(_Body):
    """Two answers to one prompt."""

    prompt: Conversation = ""
    a: Conversation
    b: Conversation
    columns: dict[str, Any] = Field(default_factory=dict)
    id: str = ""

    def pair(self) -> Pair:
        """As judges read it."""
        return Pair(
            as_messages(self.prompt or (), role="user"),
            as_messages(self.a, role="assistant"),
            as_messages(self.b, role="assistant"),
            self.columns,
            self.id,
        )


class CompareRequest(_Body):
    """Pairs for a judge."""

    pairs: list[PairBody]


class ItemBody(_Body):
    """One answer to be graded."""

    prompt: Conversation = ""
    answer: Conversation
    columns: dict[str, Any] = Field(default_factory=dict)
    id: str = ""

    def item(self) -> Item:
        """As judges read it."""
        return Item(
            as_messages(self.prompt or (), role="user"),
            as_messages(self.answer, role="assistant"),
            self.columns,
            self.id,
        )


class GradeRequest(_Body):
    """Items for a judge."""

    items: list[ItemBody]


class ProgramBody(_Body):
    """A program whose time complexity is asked for."""

    source: str
    language: str = "python"
    entry: str | None = None


class EstimateRequest(_Body):
    """Programs for a complexity judge."""

    programs: list[ProgramBody]


def converted(rows: list[Any], method: str) -> list[Any]:
    """Rows as the library's objects.

    Raises:
        DataError: One of them cannot be; the error names it.
    """
    found = []
    for index, row in enumerate(rows):
        try:
            found.append(getattr(row, method)())
        except DataError as error:
            raise DataError(str(error), index) from None
    return found
