"""What judges that ask an instruct model share: their settings, and the order of a call."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from assay._version import __version__
from assay.fingerprint import fingerprint_of
from assay.judge import Item, Judge, Pair
from assay.judges.client import Client, check_client
from assay.judges.fences import Fence, reference_text
from assay.judges.opinions import Asked, Opinion, Questioner, check_repeats
from assay.judges.prompt_template import PromptTemplate, shipped_prompt
from assay.judges.structured import VerdictFormat
from assay.settings import whole

Asking = TypeVar("Asking", Pair, Item)


@dataclass(frozen=True, slots=True)
class Shown:
    """The texts of one row that the model is shown, beside the conversation."""

    answers: tuple[str, ...]
    reference: str


class LLMJudge(Judge, Generic[Asking]):
    """A judge that asks an instruct model about each row, once or several times.

    A judge of this kind is a frozen dataclass with the fields named here, in an order of its own,
    and says what is its own: the prompt's places, the form of a verdict, what is shown of a row,
    and what the opinions on it come to.
    """

    client: Client
    repeats: int
    seed: int | None
    prompt: str | None
    longest: int
    keep_raw: bool
    keep_prompt: bool

    #: Name of the prompt that this package brings.
    _shipped: ClassVar[str]
    #: Places that a prompt must have, and may have.
    _needed: ClassVar[tuple[str, ...]]
    _optional: ClassVar[tuple[str, ...]] = ()
    #: Parts of equal length that `longest` is divided into, one of them the conversation's.
    _parts: ClassVar[int] = 2
    #: What the server is told the form of a verdict is called.
    _schema_name: ClassVar[str]

    _template: PromptTemplate

    def __post_init__(self) -> None:
        name = type(self).__name__
        check_client(f"{name}.client", self.client)
        check_repeats(self, self.repeats, self.seed)
        whole(f"{name}.longest", self.longest, 100 * self._parts)
        text = shipped_prompt(self._shipped) if self.prompt is None else self.prompt
        template = PromptTemplate(text, self._needed, self._optional)
        object.__setattr__(self, "_template", template)

    @property
    def columns(self) -> frozenset[str]:
        """The column with the reference answer, where there is one."""
        column = self._reference_column()
        return frozenset(() if column is None else (column,))

    def fingerprint(self) -> str:
        """A hash of the client, the prompt and every setting that changes an opinion."""
        return fingerprint_of(
            (
                type(self).__name__,
                __version__,
                self.client.fingerprint(),
                self._template.text,
                *self._settings(),
            )
        )

    def _ask(self, rows: Sequence[Asking]) -> list[list[Opinion]]:
        """All opinions on each row, asked in one call of the client.

        Raises:
            DataError: A row lacks the reference column, or has no answer; says which row.
        """
        column = self._reference_column()
        shown = [
            Shown(self._answers(row, index), reference_text(row.columns, column, index))
            for index, row in enumerate(rows)
        ]
        questioner = Questioner(
            self.client,
            self._form(),
            self._schema_name,
            self.repeats,
            self.seed,
            self.keep_prompt,
        )
        return questioner.ask(
            len(rows), lambda index, salt: self._asked(rows[index], shown[index], salt)
        )

    def _asked(self, row: Asking, shown: Shown, salt: str) -> Asked:
        fence = Fence.for_prompt(row.prompt, [*shown.answers, shown.reference], salt)
        most = self.longest // self._parts
        prompt = self._template.fill(
            nonce=fence.nonce,
            conversation=fence.conversation("conversation", row.prompt, most),
            **self._places(shown, fence, most),
        )
        return Asked(prompt, fence.nonce)

    @abstractmethod
    def _reference_column(self) -> str | None:
        """The column with the reference answer, or None."""

    @abstractmethod
    def _settings(self) -> tuple[object, ...]:
        """What else changes an opinion, beside the client and the prompt."""

    @abstractmethod
    def _form(self) -> VerdictFormat:
        """What the model must end its reply with."""

    @abstractmethod
    def _answers(self, row: Asking, index: int) -> tuple[str, ...]:
        """The answers of row `index` as text."""

    @abstractmethod
    def _places(self, shown: Shown, fence: Fence, most: int) -> Mapping[str, str]:
        """What the prompt's places are filled with, beside nonce and conversation.

        Args:
            shown: Answers and reference.
            fence: Of this request.
            most: Characters of one part.
        """


def reference_part(shown: Shown, fence: Fence) -> str:
    """The reference answer between its markers and a blank line, or nothing."""
    return fence.around("reference answer", shown.reference) + "\n\n" if shown.reference else ""
