"""From files of preferences to one clean file of them: what `assay data preferences` does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.policy.data.preference_duplicates import deduplicate, without_leaks
from assay.policy.data.preference_sources import READERS, load_preferences
from assay.policy.data.preferences import (
    Preference,
    shuffled_slots,
    split_by_prompt,
    swap_augmented,
    write_preferences,
)


@dataclass(frozen=True)
class PreferenceJob:
    """Reads, cleans, splits and writes preferences.

    Args:
        inputs: Files in any form of `assay.policy.data.preference_sources`.
        output: Where training preferences go, as JSON lines in the canonical form.
        format: Form of the inputs, or `auto`.
        near_duplicates: Similarity from which a pair repeats an earlier one; above 1 drops copies
            only, None drops nothing.
        evaluation: Files whose prompts must not be in the output.
        held_out: Where held-out preferences go; None holds none out.
        held_out_share: Share of prompts for `held_out`.
        ties: Keep ties.
        both_bad: Keep battles that both models lost.
        slots: `keep` the order of the files, `shuffle` each pair by a fair coin, or write `both`
            orders of each.
        strict: A row that cannot be read ends the job, instead of being counted.
        limit: Most rows of each input.
        seed: Of split and coins.

    Raises:
        ConfigError: A setting that cannot be.
    """

    inputs: tuple[str, ...]
    output: str
    format: str = "auto"
    near_duplicates: float | None = 0.8
    evaluation: tuple[str, ...] = ()
    held_out: str | None = None
    held_out_share: float = 0.1
    ties: bool = True
    both_bad: bool = True
    slots: str = "keep"
    strict: bool = False
    limit: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.inputs:
            raise ConfigError("a PreferenceJob needs at least one input file")
        if self.slots not in ("keep", "shuffle", "both"):
            raise ConfigError(
                f"slots must be one of {{'keep', 'shuffle', 'both'}}, got {self.slots!r}"
            )
        if self.format != "auto" and self.format not in READERS:
            raise ConfigError(
                f"format must be 'auto' or one of {sorted(READERS)}, got {self.format!r}"
            )
        if self.near_duplicates is not None and not self.near_duplicates > 0:
            raise ConfigError(f"near_duplicates must be > 0 or None, got {self.near_duplicates}")

    def run(self) -> dict[str, Any]:
        """Do it; returns counts for people and for `--json`.

        Raises:
            DataError: An input that cannot be read; with `strict`, a row that cannot.
        """
        dropped: dict[str, int] = {}
        found = list(self._read(self.inputs, None if self.strict else dropped))
        report: dict[str, Any] = {"read": len(found), "dropped": dropped}
        if not self.ties:
            found = self._kept(found, [p for p in found if not p.tie], "ties", dropped)
        if not self.both_bad:
            good = [p for p in found if not p.evidence.get("both_bad")]
            found = self._kept(found, good, "both bad", dropped)
        if self.near_duplicates is not None:
            clean = deduplicate(found, self.near_duplicates)
            for reason, count in (
                ("copies", clean.copies),
                ("joined as a second opinion", clean.merged),
                ("near duplicates", clean.near),
            ):
                if count:
                    dropped[reason] = count
            found = clean.kept
        if self.evaluation:
            threshold = min(self.near_duplicates or 1.0, 1.0)
            unseen, leaks = without_leaks(found, list(self._read(self.evaluation, {})), threshold)
            found = self._kept(found, unseen, "prompts of the evaluation files", dropped)
            kinds = [leak.kind for leak in leaks]
            report["leaks"] = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
        if self.held_out is not None:
            found, apart = split_by_prompt(found, self.held_out_share, self.seed)
            report["held_out"] = write_preferences(self.held_out, apart)
        report["sources"] = _counted(found)
        report["written"] = write_preferences(self.output, self._shown(found))
        return report

    def _read(self, files: tuple[str, ...], dropped: dict[str, int] | None) -> Iterator[Preference]:
        for file in files:
            yield from load_preferences(Path(file), self.format, limit=self.limit, dropped=dropped)

    def _shown(self, found: list[Preference]) -> Iterator[Preference]:
        if self.slots == "both":
            return swap_augmented(found)
        return shuffled_slots(found, self.seed) if self.slots == "shuffle" else iter(found)

    @staticmethod
    def _kept(
        before: list[Preference], after: list[Preference], reason: str, dropped: dict[str, int]
    ) -> list[Preference]:
        if len(before) > len(after):
            dropped[reason] = len(before) - len(after)
        return after


def _counted(found: list[Preference]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for preference in found:
        counts[preference.source] = counts.get(preference.source, 0) + 1
    return counts
