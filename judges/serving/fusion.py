"""SandboxFusion's `/run_code` and `/submit`, and `/sandbox/run` for `HttpSandbox`.

They run programs that strangers send, in the sandbox; each is off unless the file names it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from assay.errors import ConfigError, DataError
from assay.fenced_code import extract_code
from assay.judges.serving.code_service import CodeService
from assay.judges.serving.context import Context, Endpoint
from assay.sandbox import Job, Limits, Result, StdioTest, TestResult, Verdict
from assay.sandbox.remote import job_from_json, result_to_json

#: Our name of SandboxFusion's languages.
LANGUAGES = {
    "python": "python",
    "cpp": "cpp",
    "java": "java",
    "nodejs": "javascript",
    "go": "go",
    "rust": "rust",
}
_INTERPRETED = frozenset({"python", "javascript"})


class RunCodeRequest(BaseModel):
    """A program and its stdin."""

    model_config = ConfigDict(extra="ignore")

    code: str
    language: str = Field(examples=["python"])
    stdin: str | None = None
    compile_timeout: float = Field(default=10, gt=0)
    run_timeout: float = Field(default=10, gt=0)
    memory_limit_MB: int = -1
    files: dict[str, str | None] = Field(default_factory=dict, description="Must be empty.")
    fetch_files: list[str] = Field(default_factory=list, description="Must be empty.")


class SubmitConfig(BaseModel):
    """How a submission is run."""

    model_config = ConfigDict(extra="allow")

    language: str | None = None
    compile_timeout: float | None = Field(default=None, gt=0)
    run_timeout: float | None = Field(default=None, gt=0)
    provided_data: Any = None
    custom_extract_logic: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)


class SubmitRequest(BaseModel):
    """A model's answer, and the problem's tests in `config.provided_data` (CommonOJ's form)."""

    dataset: str = ""
    id: int | str = 0
    completion: str
    config: SubmitConfig


class JobRequest(BaseModel):
    """A job as `assay.sandbox.remote.job_to_json` writes it."""

    model_config = ConfigDict(extra="allow")

    source: str
    kind: str
    tests: list[dict[str, Any]]


def endpoints(context: Context) -> list[Endpoint]:
    """Those that the file names."""
    code = context.code
    if code is None:
        return []

    async def run_code(_: Mapping[str, str], body: RunCodeRequest) -> Any:
        if body.files or body.fetch_files:
            raise DataError("files and fetch_files are not taken here; send the program by itself")
        memory_mb = body.memory_limit_MB if body.memory_limit_MB > 0 else None
        limits = _limits(code, body.compile_timeout, body.run_timeout, memory_mb)
        said = await _run(code, body.code, body.language, body.stdin or "", limits)
        return said[0]

    async def submit(_: Mapping[str, str], body: SubmitRequest) -> Any:
        return await _submit(code, context, body)

    async def sandbox_run(_: Mapping[str, str], body: JobRequest) -> Any:
        context.counted("tests", body.tests)
        try:
            job = job_from_json(body.model_dump())
        except ConfigError as error:
            raise DataError(str(error)) from None
        most = code.settings
        if max(job.limits.wall_s, job.limits.compile_wall_s) > most.max_timeout_s:
            raise DataError(
                f"limits of {job.limits.wall_s:g} s and {job.limits.compile_wall_s:g} s; at most "
                f"{most.max_timeout_s:g} s are allowed"
            )
        if job.limits.memory_mb > most.max_memory_mb:
            raise DataError(
                f"memory_mb = {job.limits.memory_mb}; at most {most.max_memory_mb} is allowed"
            )
        return result_to_json(await code.run(job))

    made = {
        "run_code": Endpoint(
            "/run_code", RunCodeRequest, run_code, "Run a program (SandboxFusion)", "code"
        ),
        "submit": Endpoint(
            "/submit", SubmitRequest, submit, "Judge an answer (SandboxFusion)", "code"
        ),
        "sandbox_run": Endpoint(
            "/sandbox/run", JobRequest, sandbox_run, "Run a job (HttpSandbox)", "code"
        ),
    }
    return [made[name] for name in made if name in context.config.code.endpoints]


def _limits(
    code: CodeService, compile_s: float, run_s: float, memory_mb: int | None = None
) -> Limits:
    most = code.settings
    if max(compile_s, run_s) > most.max_timeout_s:
        raise DataError(
            f"timeouts of {compile_s:g} s and {run_s:g} s; at most {most.max_timeout_s:g} s are "
            "allowed"
        )
    return Limits(
        cpu_s=run_s,
        wall_s=run_s,
        memory_mb=min(memory_mb or most.max_memory_mb, most.max_memory_mb),
        compile_cpu_s=compile_s,
        compile_wall_s=compile_s,
    )


async def _run(
    code: CodeService, source: str, language: str, stdin: str, limits: Limits, expected: str = ""
) -> tuple[dict[str, Any], str, TestResult]:
    """SandboxFusion's answer for one run, the whole of stdout, and our result."""
    if language not in LANGUAGES:
        raise DataError(f"language must be one of {sorted(LANGUAGES)}, got {language!r}")
    seen: list[str] = []

    def keep(_: str, stdout: str, __: str) -> bool:
        seen.append(stdout)  # a result keeps only the start of it
        return True

    job = Job(
        source,
        (StdioTest(stdin, expected),),
        language=LANGUAGES[language],
        limits=limits,
        checker=keep,
    )
    result = await code.run(job)
    stdout = seen[-1] if seen else result.tests[0].stdout
    return _response(result, stdout, LANGUAGES[language]), stdout, result.tests[0]


def _response(result: Result, stdout: str, language: str) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "status": "Success",
        "message": "",
        "compile_result": None,
        "run_result": None,
        "executor_pod_name": None,
        "files": {},
    }
    test = result.tests[0]
    if result.verdict is Verdict.IE:
        return answer | {"status": "SandboxError", "message": result.message or test.reason}
    if result.verdict is Verdict.CE:
        compiled = _command("Finished", result.compile_s, 1, "", result.message)
        return answer | {"status": "Failed", "compile_result": compiled}
    if language not in _INTERPRETED:
        answer["compile_result"] = _command("Finished", result.compile_s, 0, "", "")
    if result.verdict is Verdict.TLE:
        run = _command("TimeLimitExceeded", test.wall_s, None, stdout, test.stderr)
    else:
        status = test.exit_status
        if status is None:
            status = -test.signal if test.signal is not None else 1
        if result.verdict is not Verdict.AC and status == 0:
            status = 1  # too much output or memory: no success, whatever the program said
        stderr = test.stderr
        if result.verdict in (Verdict.MLE, Verdict.OLE):
            stderr += f"\n{test.reason}"
        run = _command("Finished", test.wall_s, status, stdout, stderr)
    answer["run_result"] = run
    answer["status"] = "Success" if run["return_code"] == 0 else "Failed"
    return answer


def _command(
    status: str, seconds: float | None, code: int | None, stdout: str, stderr: str
) -> dict[str, Any]:
    return {
        "status": status,
        "execution_time": seconds,
        "return_code": code,
        "stdout": stdout,
        "stderr": stderr,
    }


async def _submit(code: CodeService, context: Context, body: SubmitRequest) -> dict[str, Any]:
    from assay.sandbox.compare import outputs_equal

    if body.config.custom_extract_logic:
        raise DataError("custom_extract_logic is a program for the server itself; it is not run")
    language = body.config.language or "python"
    if language not in LANGUAGES:
        raise DataError(f"language must be one of {sorted(LANGUAGES)}, got {language!r}")
    tests = _tests(body)
    context.counted("tests", tests)
    found = extract_code(body.completion, LANGUAGES[language])
    source = found.code or ""
    answer: dict[str, Any] = {
        "id": body.id,
        "accepted": False,
        "extracted_code": source,
        "full_code": source,
        "test_code": None,
        "tests": [],
        "extracted_type": "fenced" if found.closed else "incomplete_fenced",
        "extra": {},
    }
    if not source.strip():
        return answer | {"extracted_type": "empty", "extra": {"note": found.note}}
    limits = _limits(code, body.config.compile_timeout or 10, body.config.run_timeout or 10)
    run_all = bool(body.config.extra.get("run_all_cases"))
    for stdin, expected in tests:
        said, stdout, _ = await _run(code, source, language, stdin, limits, expected)
        if said["status"] == "SandboxError":
            from assay.errors import SandboxError

            raise SandboxError(said["message"])
        passed = said["status"] == "Success" and outputs_equal(
            stdout.encode("utf-8", "surrogatepass"), expected, "floats", 1e-9, 1e-9
        )
        info = {"input": {"stdin": stdin}, "output": {"stdout": expected}}
        answer["tests"].append({"passed": passed, "exec_info": said, "test_info": info})
        if not passed and not run_all:
            break
    answer["accepted"] = all(test["passed"] for test in answer["tests"])
    return answer


def _tests(body: SubmitRequest) -> list[tuple[str, str]]:
    """Stdin and expected stdout of every test.

    Raises:
        DataError: Not CommonOJ's form.
    """
    data = body.config.provided_data
    if isinstance(data, list):
        rows = [row for row in data if isinstance(row, Mapping)]
        data = next((row for row in rows if str(row.get("id")) == str(body.id)), None)
    tests = data.get("test") if isinstance(data, Mapping) else None
    try:
        tests = json.loads(tests) if isinstance(tests, str) else tests
        found = [
            (str(test["input"]["stdin"]), str(test["output"]["stdout"])) for test in tests or ()
        ]
    except (TypeError, KeyError, ValueError, RecursionError):
        found = []
    if not found:
        raise DataError(
            "config.provided_data must hold the problem's tests as CommonOJ has them, "
            '{"test": [{"input": {"stdin": "..."}, "output": {"stdout": "..."}}]}; no data set is '
            "kept here"
        )
    return found
