"""Runs untrusted programs: languages, limits, verdicts, isolation backends."""

if __name__ != "assay.sandbox":
    raise ImportError("import assay.sandbox, not sandbox")

from assay.errors import SandboxError
from assay.sandbox.bubblewrap import Bubblewrap
from assay.sandbox.choice import default_sandbox
from assay.sandbox.confined import Confined
from assay.sandbox.job import (
    AssertTest,
    FunctionTest,
    Job,
    JudgeProgram,
    Limits,
    Result,
    StdioTest,
    TestResult,
    Verdict,
)
from assay.sandbox.process import BoundedWorker, CallFailure
from assay.sandbox.sandbox import Sandbox
from assay.sandbox.unsafe import UnsafeLocal

__all__ = [
    "AssertTest",
    "BoundedWorker",
    "Bubblewrap",
    "CallFailure",
    "Confined",
    "FunctionTest",
    "Job",
    "JudgeProgram",
    "Limits",
    "Result",
    "Sandbox",
    "SandboxError",
    "StdioTest",
    "TestResult",
    "UnsafeLocal",
    "Verdict",
    "default_sandbox",
]
