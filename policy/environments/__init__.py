"""Environments for agents: tools, state, task and verifier, for TRL and for a plain loop."""

from assay.policy.environments.depth import DEPTHS, depth_environment
from assay.policy.environments.episode import Episode, Outcome
from assay.policy.environments.families import FAMILIES, environment, generate
from assay.policy.environments.loop import Agent, Played, play
from assay.policy.environments.search import SearchEnvironment
from assay.policy.environments.spec import (
    EnvironmentSpec,
    Finding,
    Tool,
    ToolError,
    ToolUnavailable,
)
from assay.policy.environments.trimming import keep_last_results
from assay.policy.environments.trl_factory import environment_factory
from assay.policy.environments.validation import Validation, validate
from assay.policy.environments.written_spec import SpecWriter

__all__ = [
    "DEPTHS",
    "FAMILIES",
    "Agent",
    "EnvironmentSpec",
    "Episode",
    "Finding",
    "Outcome",
    "Played",
    "SearchEnvironment",
    "SpecWriter",
    "Tool",
    "ToolError",
    "ToolUnavailable",
    "Validation",
    "depth_environment",
    "environment",
    "environment_factory",
    "generate",
    "keep_last_results",
    "play",
    "validate",
]
