"""Code data from several candidate solutions: correct ones of the best class, and references.

Several models propose, one may merge the best; every program is run on the row's tests in the
sandbox and judged for its time complexity. What is correct and in the best class becomes rows for
fine-tuning; a time-optimal reference and its label become a row for RL.

Source: Nanbeige4.1-3B report (arXiv:2602.13367): RL code samples are (problem, tests, time-optimal
solution, optimal-complexity label); SFT keeps correct solutions of the best complexity class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from assay.errors import ConfigError, DataError, RewardError, places_in
from assay.fenced_code import extract_code
from assay.judge import Estimate
from assay.judges.complexity import ComplexityJudge, Constraints, Program, parse
from assay.messages import Message, Sample, as_messages
from assay.policy.data.candidates import Candidate, best_class, distinct, merit
from assay.policy.data.strong_weak import Generate
from assay.rewards.pass_rate import PassRate
from assay.rewards.program_inputs import inputs_of

MERGE = """\
Below are a programming problem and correct solutions of it. Write one solution that is correct
and has the lowest possible time complexity, taking the best from each. Answer with one {language}
code block and nothing else.

Problem:
{problem}

{solutions}"""


@dataclass
class CodeData:
    """What a `CodeBuilder` made.

    Attributes:
        sft: Rows `prompt`, `completion`, `uid`, `author`, `complexity`.
        rl: The problem rows with `optimal_solution`, `optimal_complexity` and `evidence`.
        counts: Candidates by what became of them, and problems without a reference by reason.
    """

    sft: list[dict[str, Any]] = field(default_factory=list)
    rl: list[dict[str, Any]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class CodeBuilder:
    r"""Builds code data from problem rows.

    A row has `prompt`, tests in any form that `PassRate` reads, and optionally `candidates`
    (answers that exist already: texts, or objects with `text` and `author`), `constraints` and
    `optimal_complexity` (a label that is then checked, not replaced).

    Args:
        tests: Decides what is correct.
        judge: Judges time complexity; None takes the static estimator. One that runs programs gets
            inputs from the row: a `generator`, an `example_input`, or its tests.
        authors: Models that propose, by name.
        samples: Answers per author and problem.
        merger: Writes one best solution from the correct ones; None merges nothing.
        batch_size: Problems handled together.
        max_error_rate: A run in which the sandbox failed on more than this share of the candidates
            raises instead of dropping them quietly.

    Example:
        >>> row = {"prompt": "Print n + 1.", "tests": '[{"stdin": "1", "expected": "2"}]',
        ...        "candidates": ["```python\nprint(int(input()) + 1)\n```", "```python\nx\n```"]}
        >>> data = CodeBuilder()([row])
        >>> data.rl[0]["optimal_complexity"], data.counts["wrong"]
        ('1', 1)
    """

    tests: PassRate = field(default_factory=PassRate)
    judge: ComplexityJudge | None = None
    authors: Mapping[str, Generate] = field(default_factory=dict)
    samples: int = 1
    merger: Generate | None = None
    batch_size: int = 16
    max_error_rate: float = 0.5

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name in ("samples", "batch_size"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ConfigError(f"CodeBuilder.{name} must be a whole number >= 1, got {value!r}")

    def __call__(self, rows: Iterable[Mapping[str, Any]]) -> CodeData:
        """Build from `rows`.

        Raises:
            DataError: A row lacks a prompt or tests; `index` says which row.
            RewardError: The sandbox failed on too many candidates.
        """
        data = CodeData()
        source = iter(rows)
        start = 0
        while batch := list(islice(source, self.batch_size)):
            self._add(batch, start, data)
            start += len(batch)
        asked = sum(data.counts[name] for name in ("correct", "wrong", "failed"))
        if data.counts["failed"] > self.max_error_rate * asked:
            raise RewardError(
                f"the sandbox failed on {data.counts['failed']} of {asked} candidates "
                f"(max_error_rate {self.max_error_rate}); see assay doctor"
            )
        return data

    def _add(self, rows: Sequence[Mapping[str, Any]], start: int, data: CodeData) -> None:
        prompts = [self._prompt(row, start + i) for i, row in enumerate(rows)]
        proposed = [self._given(row, start + i) for i, row in enumerate(rows)]
        for author, generate in self.authors.items():
            asked = [prompt for prompt in prompts for _ in range(self.samples)]
            for i, text in enumerate(_generated(generate, asked, author)):
                if text is None:
                    data.counts["not written"] += 1
                else:
                    proposed[i // self.samples].append((text, author))
        candidates = self._judged(rows, prompts, proposed, start, data)
        if self.merger is not None:
            self._merge(rows, prompts, candidates, start, data)
        for row, prompt, found in zip(rows, prompts, candidates, strict=True):
            self._rows(row, prompt, found, data)

    def _merge(
        self,
        rows: Sequence[Mapping[str, Any]],
        prompts: Sequence[tuple[Message, ...]],
        candidates: list[list[Candidate]],
        start: int,
        data: CodeData,
    ) -> None:
        assert self.merger is not None
        places = [i for i, found in enumerate(candidates) if any(c.passed for c in found)]
        asked = [self._merge_prompt(prompts[i], candidates[i]) for i in places]
        merged: list[list[tuple[str, str]]] = [[] for _ in rows]
        for place, text in zip(places, _generated(self.merger, asked, "merger"), strict=True):
            if text is None:
                data.counts["not written"] += 1
            else:
                merged[place].append((text, "merger"))
        for found, more in zip(
            candidates, self._judged(rows, prompts, merged, start, data), strict=True
        ):
            found.extend(more)

    def _merge_prompt(
        self, prompt: tuple[Message, ...], found: Sequence[Candidate]
    ) -> tuple[Message, ...]:
        language = self.tests.language
        solutions = "\n\n".join(
            f"Solution {number}:\n```{language}\n{candidate.code}\n```"
            for number, candidate in enumerate((c for c in found if c.passed), start=1)
        )
        problem = "\n\n".join(message.content for message in prompt)
        text = MERGE.format(language=language, problem=problem, solutions=solutions)
        return (Message("user", text),)

    def _judged(
        self,
        rows: Sequence[Mapping[str, Any]],
        prompts: Sequence[tuple[Message, ...]],
        proposed: Sequence[Sequence[tuple[str, str]]],
        start: int,
        data: CodeData,
    ) -> list[list[Candidate]]:
        """Run all proposals of a batch on their tests, then judge the correct ones."""
        flat = [(i, text, author) for i, texts in enumerate(proposed) for text, author in texts]
        samples = [Sample.of(prompts[i], text, rows[i]) for i, text, _ in flat]
        with places_in([start + i for i, _, _ in flat]):
            scores = self.tests.evaluate(samples)
        language = self.tests.language
        found = []
        for (_, text, author), sample, score in zip(flat, samples, scores, strict=True):
            code = extract_code(sample.answer, language, bare=bool(self.tests.bare)).code
            passed = None if score.status == "failed" else score.passed is True
            found.append(Candidate(text, author, code, passed))
            data.counts["failed" if passed is None else "correct" if passed else "wrong"] += 1
        right = [k for k, candidate in enumerate(found) if candidate.passed and candidate.code]
        programs = [Program(str(found[k].code), language, _entry(rows[flat[k][0]])) for k in right]
        estimates = self._estimates(programs, [rows[flat[k][0]] for k in right])
        for k, estimate in zip(right, estimates, strict=True):
            one = found[k]
            found[k] = Candidate(one.text, one.author, one.code, one.passed, estimate)
        grouped: list[list[Candidate]] = [[] for _ in rows]
        for (i, _, _), candidate in zip(flat, found, strict=True):
            grouped[i].append(candidate)
        return grouped

    def _estimates(
        self, programs: Sequence[Program], rows: Sequence[Mapping[str, Any]]
    ) -> list[Estimate]:
        """A judge that runs programs gets inputs from what the rows hold."""
        judge = self.judge or ComplexityJudge()
        if not getattr(judge, "takes_inputs", False):
            return judge.estimate(programs)
        plans = [
            inputs_of(row, Constraints.of(row.get("constraints")), function=_entry(row) is not None)
            for row in rows
        ]
        return judge.estimate(programs, plans)

    def _rows(
        self,
        row: Mapping[str, Any],
        prompt: tuple[Message, ...],
        found: Sequence[Candidate],
        data: CodeData,
    ) -> None:
        right = [candidate for candidate in found if candidate.passed]
        decided = [candidate for candidate in right if candidate.complexity is not None]
        if not decided:
            reason = "undecided complexity" if right else "no correct candidate"
            data.counts[f"no reference: {reason}"] += 1
            return
        best = best_class(decided, row.get("constraints"))
        if best is None:
            data.counts["no reference: incomparable complexities"] += 1
            return
        kept = distinct(best, self.tests.language)
        reference = max(kept, key=merit)
        found_label = str(reference.complexity)
        label = row.get("optimal_complexity") or found_label
        flags = []
        if (
            parse(label).compare(parse(found_label), Constraints.of(row.get("constraints")))
            != "equal"
        ):
            flags.append(f"the row's label is {label}, the best candidate reads {found_label}")
            data.counts["label disagrees"] += 1
        uid = row.get("uid")
        for candidate in kept:
            data.sft.append(
                {
                    "prompt": [_plain(message) for message in prompt],
                    "completion": [{"role": "assistant", "content": candidate.text}],
                    "uid": uid,
                    "author": candidate.author,
                    "complexity": str(candidate.complexity),
                }
            )
        evidence = {
            "author": reference.author,
            "candidates": len(found),
            "correct": len(right),
            "best_class": len(best),
            "because": list(reference.estimate.evidence) if reference.estimate else [],
            "flags": flags,
        }
        problem = {key: value for key, value in row.items() if key != "candidates"}
        data.rl.append(
            problem
            | {
                "optimal_solution": reference.code,
                "optimal_complexity": label,
                "evidence": evidence,
            }
        )

    def _prompt(self, row: Mapping[str, Any], index: int) -> tuple[Message, ...]:
        if row.get("prompt") is None:
            raise DataError("a problem row needs a `prompt`", index)
        return as_messages(row["prompt"], role="user")

    def _given(self, row: Mapping[str, Any], index: int) -> list[tuple[str, str]]:
        given = []
        for item in row.get("candidates") or ():
            text, author = item, "given"
            if isinstance(item, Mapping):
                text, author = item.get("text"), str(item.get("author") or "given")
            if not isinstance(text, str):
                raise DataError(
                    "column 'candidates' must hold texts or objects with `text` and `author`, got "
                    f"{type(item).__name__}",
                    index,
                )
            given.append((text, author))
        return given


def _generated(
    generate: Generate, prompts: Sequence[tuple[Message, ...]], author: str
) -> list[str | None]:
    texts = list(generate(prompts)) if prompts else []
    if len(texts) != len(prompts):
        raise ConfigError(
            f"author {author!r} wrote {len(texts)} answers to {len(prompts)} prompts; it must give "
            "one each, None where it could not"
        )
    return texts


def _entry(row: Mapping[str, Any]) -> str | None:
    entry = row.get("entry_point")
    return entry if isinstance(entry, str) else None


def _plain(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": message.content}
