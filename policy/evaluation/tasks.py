"""The steps of each task of an evaluation: its rows, samples with what judged them, figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.errors import ConfigError, DataError
from assay.fingerprint import fingerprint_of
from assay.judge import Judge
from assay.judges.checklist import Criterion
from assay.policy.chat import with_system
from assay.policy.data.finished_rows import FinishedRows
from assay.policy.data.row_files import read_rows, write_rows
from assay.policy.data.sources import read_sources
from assay.policy.evaluation.answers import Figures, answer_figures
from assay.policy.evaluation.config import Evaluation
from assay.policy.evaluation.episodes import episode_figures, play_rows
from assay.policy.evaluation.safety import QUESTION, refusals, safety_figures, safety_rows
from assay.policy.evaluation.samplers import Sampler, client_of, sampler_of
from assay.policy.evaluation.win_rate import judged_duels, win_figures
from assay.policy.rollouts import Decoding, kept_samples, score_rollouts
from assay.reward import Reward, Score
from assay.rewards.chat_text import chat_prompt


@dataclass
class Tasks:
    """What `run_evaluation` asks for, one method a step.

    Args:
        config: What to evaluate.
        policy: What samples.
        reference: In place of what `config.reference_policy` names.
        judge: In place of what `config.judge` names, for win rates.

    Attributes:
        rows: The prompts.
    """

    config: Evaluation
    policy: Sampler
    reference: Sampler | None = None
    judge: Judge | None = None
    rows: list[dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        config = self.config
        if config.task == "safety":
            found = safety_rows()
        else:
            read = read_sources(config.data, limit=config.limit)
            found = _named(read)
        if config.task != "environment":
            found = [_prompted(row, config.system_prompt) for row in found]
        self.rows = found
        self._reward = _reward_of(config)
        self._selector = None if config.selector is None else _loaded(config.selector)
        if config.task == "win-rate" and self.judge is None:
            self.judge = _judge_of(config)
        if config.reference_policy is not None and self.reference is None:
            self.reference = sampler_of(
                config.reference_policy,
                chat_template=config.chat_template,
                api_key_env=config.api_key_env,
            )

    def data_mark(self) -> str:
        """A hash of the prompts."""
        return fingerprint_of([_plain(row) for row in self.rows])[:16]

    def scorer_mark(self) -> str:
        """A hash of what scores the samples, for the comparison of results."""
        parts: list[Any] = [
            part.fingerprint() for part in (self._reward, self._selector, self.judge) if part
        ]
        if self.config.task == "safety":
            parts.append(self.config.judge or "wording")
        return fingerprint_of(parts)[:16]

    def sampled(self, folder: Path, decoding: Decoding) -> list[dict[str, Any]]:
        """Samples of one budget and seed with everything that judged them; kept in `folder`."""
        config = self.config
        if config.task == "environment":
            return self._episodes(folder, decoding)
        rollouts, scores = kept_samples(
            folder,
            lambda: self.policy.sample(self.rows, decoding),
            self.rows,
            decoding,
            self._reward or _Unscored(),
            checkpoint=self.policy.mark(),
            again=True,
        )
        found = [row | {"score": score} for row, score in zip(rollouts, scores, strict=True)]
        if self.reference is not None:
            answers = self._references(folder / "reference", decoding)
            found = [row | {"reference": answers[row["uid"]]} for row in found]
        return self._kept(folder, found, self._judged)

    def figures(self, samples: Sequence[Mapping[str, Any]]) -> Figures:
        """Figures of samples."""
        config = self.config
        if config.task == "environment":
            return episode_figures(samples, config.ks)
        scores = [row["score"] for row in samples]
        if config.task == "safety":
            values = [s["value"] for s in scores] if self._reward is not None else None
            found = safety_figures(samples, [row["refused"] for row in samples], values)
            return found.joined(_lengths(samples, scores))
        if config.task == "win-rate":
            return win_figures(samples).joined(_lengths(samples, scores))
        return answer_figures(
            samples,
            scores,
            ks=config.ks,
            selector=[row["pick"] for row in samples] if self._selector is not None else None,
            passing="tests" if config.task == "code" and config.reward is None else "",
            vote=config.task == "reward",
        )

    def _judged(self, samples: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """What is said of each sample beside its score."""
        if self.config.task == "win-rate":
            if self.judge is None:
                raise ConfigError("task 'win-rate' needs a judge")
            return judged_duels(samples, self.judge)
        if self.config.task == "safety":
            return [{"refused": one} for one in refusals(samples, self._refusal())]
        if self._selector is not None:
            return [{"pick": score.value} for score in score_rollouts(self._selector, samples)]
        return [{} for _ in samples]

    def _kept(
        self,
        folder: Path,
        samples: Sequence[dict[str, Any]],
        judge: Callable[[Sequence[Mapping[str, Any]]], list[dict[str, Any]]],
    ) -> list[dict[str, Any]]:
        """Samples joined with what `judge` says of them.

        It is asked once, and again about prompts of which it had nothing to say: what broke may be
        mended.
        """
        mark = fingerprint_of(
            [self.scorer_mark(), [_plain(row | {"score": None}) for row in samples]]
        )[:16]
        file = folder / f"judged-{mark}.jsonl"
        said = list(read_rows(file)) if file.is_file() else [{"win": None} for _ in samples]
        silent = {
            row["uid"] for row, one in zip(samples, said, strict=True) if None in _verdicts(one)
        }
        if places := [place for place, row in enumerate(samples) if row["uid"] in silent]:
            found = judge([samples[place] for place in places])
            for place, one in zip(places, found, strict=True):
                said[place] = one
            write_rows(file, said)
        return [row | more for row, more in zip(samples, said, strict=True)]

    def _episodes(self, folder: Path, decoding: Decoding) -> list[dict[str, Any]]:
        config = self.config
        rows = [_plain(row) for row in self.rows]
        how = (self.policy.mark(), decoding, rows, config.protocol, config.max_turns or 0)
        file = folder / f"played-{fingerprint_of(how)[:16]}.jsonl"
        # A row's runs are kept as they come: the file of a cut evaluation is gone on with.
        kept = FinishedRows(file, fingerprint_of(how), 1)

        places = {row["uid"]: number for number, row in enumerate(self.rows, start=1)}

        def work(some: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
            return [
                {
                    "runs": list(
                        play_rows(
                            self.policy,
                            [row],
                            decoding,
                            protocol=config.protocol or None,
                            max_turns=config.max_turns,
                            first=places[row["uid"]],
                        )
                    )
                }
                for row in some
            ]

        played = list(read_rows(file)) if file.is_file() else []
        made = not played
        if made:
            played = list(kept.run(self.rows, work))
        broken = [
            place
            for place, row in enumerate(played)
            if any(run["passed"] is None for run in row["runs"])
        ]
        if broken and not made:  # an environment failed when the file was made
            for place, row in zip(broken, work([self.rows[p] for p in broken]), strict=True):
                played[place] = row
            write_rows(file, played)
        return [run for row in played for run in row["runs"]]

    def _references(self, folder: Path, decoding: Decoding) -> dict[str, Any]:
        """One answer of the reference policy to each prompt, sampled with the same decoding."""
        reference = self.reference
        if reference is None:
            return {}
        once = replace(decoding, n=1)
        answers, _ = kept_samples(
            folder,
            lambda: reference.sample(self.rows, once),
            self.rows,
            once,
            _Unscored(),
            checkpoint=reference.mark(),
        )
        return {row["uid"]: row["completion"] for row in answers}

    def _refusal(self) -> Criterion | None:
        from assay.judges.question import Question

        if self.config.judge is None:
            return None
        return Question(client_of(self.config.judge, self.config.api_key_env), QUESTION)


@dataclass(frozen=True)
class _Unscored(Reward):
    """Scores nothing: samples that something else reads."""

    name: str = "unscored"

    def score(self, samples: Sequence[Any]) -> list[Score]:
        """Skip all."""
        return [Score.skip("not scored by a reward") for _ in samples]


def _reward_of(config: Evaluation) -> Reward | None:
    from assay.policy.stages.rl_rewards import code_reward, model_reward

    if config.reward is not None:
        return _loaded(config.reward)
    if config.reward_model is not None and config.task != "win-rate":
        return model_reward(config.reward_model)
    return code_reward(time=config.time) if config.task == "code" else None


def _judge_of(config: Evaluation) -> Judge:
    """The judge of win rates that the configuration names."""
    spec = config.judge or config.reward_model or ""
    if (Path(spec) / "reward_model.json").is_file():
        from assay.policy.reward_models import trained_model

        model = trained_model(spec)
        if not isinstance(model, Judge):
            raise ConfigError(f"{spec} is a point-wise model; win rates need a pair-wise one")
        return model
    from assay.judges import LLMPairwise

    return LLMPairwise(client_of(spec, config.api_key_env))


def _loaded(spec: str) -> Reward:
    from assay.loading import load_reward

    return load_reward(spec).reward


def _named(read: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Rows with a `uid` each, by which their samples are told apart."""
    found: dict[str, dict[str, Any]] = {}
    for name, part in read.items():
        for number, row in enumerate(part):
            uid = f"{name}-{number}" if row.get("uid") is None else str(row["uid"])
            if uid in found:
                raise DataError(
                    f"source {name!r}, row {number + 1}: another row has the uid {uid!r} too, and "
                    "samples of one uid count as one prompt's; give each prompt its own, or none",
                    number,
                )
            found[uid] = dict(row) | {"uid": uid}
    return list(found.values())


def _prompted(row: Mapping[str, Any], system_prompt: str) -> dict[str, Any]:
    if not row.get("prompt"):
        raise DataError(f"row {row['uid']!r} has no `prompt`; it has {sorted(row)}")
    try:
        messages = chat_prompt(row["prompt"])
    except DataError as error:
        raise DataError(f"the prompt of row {row['uid']!r}: {error}") from error
    kept = {k: v for k, v in row.items() if k not in ("completion", "completion_ids", "id")}
    return kept | {"prompt": with_system(messages, system_prompt)}


def _verdicts(said: Mapping[str, Any]) -> list[Any]:
    """What was said of a sample, None where nobody could tell."""
    return [said[name] for name in ("win", "refused", "pick") if name in said]


def _lengths(samples: Sequence[Mapping[str, Any]], scores: Sequence[Mapping[str, Any]]) -> Figures:
    found = answer_figures(samples, scores, ks=(), vote=False)
    kept = ("overlong", "tokens")
    return Figures(
        {k: v for k, v in found.metrics.items() if k in kept},
        {k: v for k, v in found.by_prompt.items() if k in kept},
    )


def _plain(row: Mapping[str, Any]) -> str:
    return json.dumps(dict(row), sort_keys=True, default=str)
