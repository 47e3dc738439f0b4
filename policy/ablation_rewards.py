"""Code rewards that differ in who judges the complexity, for the ablation `judge`.

Named in recipes as `assay.policy.ablation_rewards:heuristic` and so on.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from assay.judge import Estimate
from assay.judges.complexity import ComplexityJudge, Program
from assay.judges.complexity.learned import LearnedEstimator
from assay.judges.complexity.static import StaticEstimator
from assay.policy.stages.rl_rewards import code_reward
from assay.rewards import WeightedSum

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True)
class LoopDepth:
    r"""The cheap heuristic: n to the power of the deepest nest of loops, and log n for a sort.

    It sees neither what a loop runs over nor what a call costs; that is what it is compared for.

    >>> code = "for i in range(n):\n    for j in range(3): pass"
    >>> LoopDepth().estimate([Program(code, "python")])[0].expression
    'n^2'
    """

    name = "loop depth"

    def estimate(self, programs: Sequence[Program]) -> list[Estimate]:
        """One estimate per program; undecided for other languages and what does not parse."""
        return [self._one(program) for program in programs]

    def _one(self, program: Program) -> Estimate:
        if program.language != "python":
            return Estimate(None, 0.0, self.name, ("reads Python only",))
        try:
            tree = ast.parse(program.source)
        except (SyntaxError, ValueError, RecursionError) as error:
            return Estimate(None, 0.0, self.name, (f"does not parse: {error}",))
        depth = _depth(tree)
        power = {0: "1", 1: "n"}.get(depth, f"n^{depth}")
        calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
        sorts = any(
            getattr(call, "id", "") == "sorted" or getattr(call, "attr", "") == "sort"
            for call in calls
        )
        if sorts:
            power = "n log n" if depth <= 1 else f"{power} log n"
        return Estimate(power, 0.9, self.name, (f"loops nested {depth} deep",))


def _depth(node: ast.AST) -> int:
    inside = max((_depth(child) for child in ast.iter_child_nodes(node)), default=0)
    own = len(node.generators) if hasattr(node, "generators") else isinstance(node, _LOOPS)
    return inside + int(own)


def _judged_by(estimator: Any) -> WeightedSum:
    """The code reward with one estimator, which no reference solution answers in place of."""
    reward = code_reward(time=True, judge=ComplexityJudge((estimator,)))
    term = reward.terms["time"]
    alone = replace(term, reward=replace(term.reward, solution_column=""))  # type: ignore[type-var]
    return replace(reward, terms=dict(reward.terms) | {"time": alone})


#: R_time by the heuristic, by the static estimator, and by the trained classifier over it.
heuristic = _judged_by(LoopDepth())
static = _judged_by(StaticEstimator())
learned = _judged_by(LearnedEstimator.shipped())
