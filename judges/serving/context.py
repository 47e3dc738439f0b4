"""What a running server holds, and what an endpoint is."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from assay.errors import ConfigError
from assay.judges.serving.code_service import CodeService
from assay.judges.serving.config import ServeConfig
from assay.judges.serving.errors import ApiError, unknown
from assay.judges.serving.metrics import Metrics
from assay.judges.serving.services import (
    ComplexityService,
    JudgeService,
    RawInput,
    RewardService,
    open_services,
)
from assay.reward import Score


@dataclass
class Context:
    """Everything that endpoints share.

    Attributes:
        config: What was read.
        tokens: Bearer tokens that are accepted.
        metrics: Counters.
        rewards: Services by name, as are `judges` and `complexity`.
        code: Runs programs; None where no endpoint does.
        ready: Set once models are loaded, taken back while draining.
    """

    config: ServeConfig
    tokens: frozenset[str]
    metrics: Metrics
    rewards: Mapping[str, RewardService]
    judges: Mapping[str, JudgeService]
    complexity: Mapping[str, ComplexityService]
    code: CodeService | None = None
    ready: bool = False
    draining: bool = field(default=False)

    @classmethod
    def open(cls, config: ServeConfig) -> Context:
        """Load what a file names.

        Raises:
            ConfigError: An object cannot be loaded, or a token is wanted and there is none.
        """
        tokens, metrics = config.server.tokens(), Metrics()
        made = cls(
            config,
            tokens,
            metrics,
            open_services(RewardService, "rewards", config.rewards, metrics),
            open_services(JudgeService, "judges", config.judges, metrics),
            open_services(ComplexityService, "complexity", config.complexity, metrics),
            CodeService.open(config.code, metrics) if config.code.endpoints else None,
        )
        if config.openrlhf is not None and config.openrlhf.raw:
            name = config.openrlhf.reward
            if not made.rewards[name].raw:
                raise ConfigError(
                    f"[openrlhf] raw = true needs a reward with a model that scores texts as they "
                    f"are (score_inputs), and {name!r} has none; leave raw out"
                )
        if config.nemo_gym is not None and made.rewards[config.nemo_gym.reward].reward.scope == (
            "group"
        ):
            raise ConfigError(
                f"[nemo_gym] reward {config.nemo_gym.reward!r} compares the rollouts of a prompt, "
                "and /verify brings one at a time; name a reward of single rollouts"
            )
        return made

    async def warm_up(self) -> None:
        """Load the models; a server is ready after that."""
        for service in self.rewards.values():
            if service.raw:
                for _ in service.objects:
                    await service.score_inputs([RawInput("warm up")])
        self.ready = True

    def services(self) -> Sequence[Any]:
        """All of them."""
        code = [] if self.code is None else [self.code]
        return [*self.rewards.values(), *self.judges.values(), *self.complexity.values(), *code]

    def problems(self) -> list[str]:
        """Why no requests should be sent here; empty where they should."""
        found = [] if self.ready else ["models are being loaded"]
        if self.draining:
            found.append("the server is shutting down")
        for service in self.services():
            stuck_s = service.batcher.stuck_s()
            if stuck_s > self.config.server.timeout_s:
                found.append(f"{service.name!r} has been busy with one batch for {stuck_s:.0f} s")
        return found

    def reward(self, name: str) -> RewardService:
        """A reward by name, or 404."""
        if name not in self.rewards:
            raise unknown("reward", name, self.rewards.keys())
        return self.rewards[name]

    def counted(self, what: str, rows: Sequence[Any]) -> None:
        """Refuse a request with too many rows."""
        most = self.config.server.max_items
        if len(rows) > most:
            raise ApiError(
                413, "too_large", f"{len(rows)} {what} in one request, {most} are taken; send fewer"
            )

    def close(self) -> None:
        """End threads and the sandbox."""
        for service in self.services():
            service.batcher.close()
        if self.code is not None:
            self.code.sandbox.close()


@dataclass(frozen=True)
class Endpoint:
    """A POST endpoint.

    Attributes:
        path: As Starlette writes it.
        body: Model of the request.
        handle: Gives the answer, from the path's parameters and the body.
        summary: One line for the documentation.
        tag: Where it stands there.
    """

    path: str
    body: type[BaseModel]
    handle: Callable[[Mapping[str, str], Any], Awaitable[Any]]
    summary: str
    tag: str


def values_of(scores: Sequence[Score], reward: str) -> list[float]:
    """The values, where every row has one: protocols that know only numbers get no other answer.

    Raises:
        ApiError: 503 where our side failed, 422 where a row has no score for another reason.
    """
    for index, score in enumerate(scores):
        if score.value is None:
            failed = score.status == "failed"
            raise ApiError(
                503 if failed else 422,
                "unavailable" if failed else "no_score",
                f"reward {reward!r} has no number for row {index}: {score.status}"
                + (f": {score.note}" if score.note else "")
                + "; a missing score is not sent as a number",
                index=index,
                retry_after_s=1 if failed else None,
            )
    return [score.value for score in scores if score.value is not None]
