"""The server's own endpoints: rewards, judges and complexity judges by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from assay.judge import Grade, Verdict
from assay.judges.complexity.program import Program
from assay.judges.serving.context import Context, Endpoint
from assay.judges.serving.errors import ApiError, unknown
from assay.judges.serving.schemas import (
    CompareRequest,
    EstimateRequest,
    GradeRequest,
    ScoreRequest,
    converted,
)


def endpoints(context: Context) -> list[Endpoint]:
    """Rewards always, the others where any is served."""

    async def score(path: Mapping[str, str], body: ScoreRequest) -> Any:
        service = context.reward(path["name"])
        context.counted("samples", body.samples)
        samples = converted(body.samples, "sample")
        scores = await service.score(samples)
        return {
            "scores": [one.to_json() for one in scores],
            "reward": service.name,
            "fingerprint": service.fingerprint,
        }

    async def compare(path: Mapping[str, str], body: CompareRequest) -> Any:
        service = _judge(context, path["name"], "compare")
        context.counted("pairs", body.pairs)
        verdicts: list[Verdict] = await service.compare(converted(body.pairs, "pair"))
        return {
            "verdicts": [asdict(one) for one in verdicts],
            "judge": service.name,
            "fingerprint": service.fingerprint,
        }

    async def grade(path: Mapping[str, str], body: GradeRequest) -> Any:
        service = _judge(context, path["name"], "grade")
        context.counted("items", body.items)
        grades: list[Grade] = await service.grade(converted(body.items, "item"))
        return {
            "grades": [asdict(one) for one in grades],
            "judge": service.name,
            "fingerprint": service.fingerprint,
        }

    async def estimate(path: Mapping[str, str], body: EstimateRequest) -> Any:
        name = path["name"]
        if name not in context.complexity:
            raise unknown("complexity judge", name, context.complexity.keys())
        service = context.complexity[name]
        context.counted("programs", body.programs)
        programs = [Program(p.source, p.language, p.entry) for p in body.programs]
        found = await service.estimate(programs)
        return {
            "estimates": [asdict(one) for one in found],
            "judge": name,
            "fingerprint": service.fingerprint,
        }

    made = [
        Endpoint("/v1/rewards/{name}/score", ScoreRequest, score, "Score completions", "rewards"),
        Endpoint("/v1/judges/{name}/compare", CompareRequest, compare, "Compare pairs", "judges"),
        Endpoint("/v1/judges/{name}/grade", GradeRequest, grade, "Grade answers", "judges"),
        Endpoint(
            "/v1/complexity/{name}/estimate",
            EstimateRequest,
            estimate,
            "Estimate time complexities",
            "complexity",
        ),
    ]
    served = [context.rewards, context.judges, context.judges, context.complexity]
    return [endpoint for endpoint, objects in zip(made, served, strict=True) if objects]


def _judge(context: Context, name: str, verb: str) -> Any:
    if name not in context.judges:
        raise unknown("judge", name, context.judges.keys())
    service = context.judges[name]
    if not (service.compares if verb == "compare" else service.grades):
        raise ApiError(
            422,
            "not_offered",
            f"judge {name!r} does not {verb}; GET /v1/judges says what each one does",
        )
    return service
