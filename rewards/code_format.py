"""The format reward for code: one fenced block of the wanted language, and it parses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.fenced_code import extract_code
from assay.fingerprint import fingerprint_of
from assay.messages import Sample
from assay.reward import Reward, Score
from assay.settings import one_of
from assay.syntax import parser_version, parses, require_language


@dataclass(frozen=True)
class CodeFormat(Reward):
    r"""R_format: 1 for exactly one closed block of the language that parses, else 0.

    Read is the answer of the last assistant turn, after `</think>`. `passed` says that there is
    code which parses, however it is presented: it is what a gate in front of tests needs. So an
    untagged block, the last of several blocks or a block that its fence does not close may pass
    with a value of 0. The note says what was found and, for code that does not parse, where it
    breaks. Nothing is run.

    Source: the format reward of the Nanbeige4.1-3B report (arXiv:2602.13367); its rule and scale
    are not disclosed, these are ours. With `graded`, 0.5 goes to all code that parses
    and is not presented as asked.

    Args:
        language: `python`, or with `pip install "assay[complexity]"` c, cpp, java, javascript, go,
            rust.
        graded: 0.5 instead of 0 where `passed` is True.
        bare: An answer without any block is code. Beware that a word of prose such as `hello` is a
            Python program.
        name: Metric name.

    Raises:
        ConfigError: Unknown language.
        ImportError: The language's grammar is not installed (at construction).

    Example:
        >>> CodeFormat()(completions=["```python\nx = 1\n```", "```python\nx = \n```"])
        [1.0, 0.0]
        >>> two = "```python\nx = 1\n```\nor\n```python\nx = 2\n```"
        >>> CodeFormat(graded=True)(completions=[two])
        [0.5]
    """

    language: str = "python"
    graded: bool = False
    bare: bool = False
    name: str = "code_format"
    range = (0.0, 1.0)

    def __post_init__(self) -> None:
        require_language(self.language)
        one_of("CodeFormat.graded", self.graded, (False, True))

    def fingerprint(self) -> str:
        """Settings, and the parser's version."""
        return fingerprint_of((super().fingerprint(), parser_version(self.language)))

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Extract the code of each answer and parse it."""
        return [self._one(sample.answer) for sample in samples]

    def _one(self, answer: str) -> Score:
        found = extract_code(answer, self.language, bare=self.bare)
        if found.code is None:
            return Score.of(0.0, passed=False, note=found.note)
        parsed, reason = parses(found.code, self.language)
        note = "; ".join(filter(None, (found.note, reason)))
        if not parsed:
            return Score.of(0.0, passed=False, note=note)
        exact = found.note == "bare code" or (found.wanted == 1 and found.closed)
        return Score.of(1.0 if exact else 0.5 * self.graded, passed=True, note=note)
