"""A Python tool for agents that runs in our sandbox, without network."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.errors import SandboxError
from assay.policy.environments.spec import ToolUnavailable
from assay.sandbox.choice import default_sandbox
from assay.sandbox.job import Job, Limits, StdioTest, Verdict
from assay.sandbox.sandbox import Sandbox


@dataclass
class PythonTool:
    """A code backend: a program in, what it wrote out.

    Args:
        sandbox: Where it runs; None for the best one available here, opened at the first call.
        limits: Of one program.
        longest: Characters of output that the agent is shown.

    Each program starts afresh: nothing is kept from one call to the next.
    """

    sandbox: Sandbox | None = None
    limits: Limits = field(default_factory=lambda: Limits(cpu_s=10, wall_s=20, output_mb=1))
    longest: int = 4000

    def run(self, source: str) -> str:
        """Run a program."""
        try:
            if self.sandbox is None:
                self.sandbox = default_sandbox()
            job = Job(source, (StdioTest("", ""),), limits=self.limits, comparison="exact")
            result = self.sandbox.run([job])[0]
        except SandboxError as error:
            raise ToolUnavailable(f"the sandbox cannot run programs: {error}") from None
        test = result.tests[0] if result.tests else None
        if result.verdict is Verdict.IE or (test is not None and test.verdict is Verdict.IE):
            raise ToolUnavailable("the sandbox failed while it ran the program")
        if test is None:
            return f"[{result.verdict}] {result.message or 'the program did not start'}"
        text = self._cut(test.stdout)
        if test.verdict in (Verdict.AC, Verdict.WA):
            return text or "[the program wrote nothing; print what you want to see]"
        why = test.stderr[-self.longest :]  # a traceback ends with what matters
        return f"[{test.verdict}] {text}\n{why}".strip()

    def _cut(self, text: str) -> str:
        return text if len(text) <= self.longest else text[: self.longest] + "\n[cut]"
