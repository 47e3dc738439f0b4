"""Backend `http`: a client that is itself a `Sandbox`, for a SandboxFusion server or one of ours.

Against SandboxFusion only stdin/stdout tests can be run, and verdicts are made here from what the
server says happened: it has no memory, output or CPU verdicts, so `isolation` says so.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, Literal

from assay.errors import ConfigError, DataError, SandboxError
from assay.sandbox import execution
from assay.sandbox.compare import outputs_equal
from assay.sandbox.job import (
    AssertTest,
    FunctionTest,
    Job,
    Result,
    StdioTest,
    TestResult,
    Verdict,
    worst,
)
from assay.sandbox.pool import duplicates
from assay.sandbox.sandbox import Sandbox
from assay.sandbox.stop import Stop

_FUSION_LANGUAGES = {
    "python": "python",
    "cpp": "cpp",
    "cpp20": "cpp",
    "java": "java",
    "javascript": "nodejs",
    "go": "go",
    "rust": "rust",
}
_KINDS = {"stdio": StdioTest, "function": FunctionTest, "assert": AssertTest}


@dataclass(frozen=True)
class HttpSandbox(Sandbox):
    """Runs jobs on a server.

    Args:
        url: Address of the server, without a path.
        protocol: `assay` for our own server (`POST /sandbox/run`), `sandboxfusion` for
            SandboxFusion (`POST /run_code`).
        concurrency: Requests at one time.
        timeout_s: Seconds that a request may take above the limits of its tests.
    """

    url: str
    protocol: Literal["assay", "sandboxfusion"] = "assay"
    concurrency: int = 16
    timeout_s: float = 60.0

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise ConfigError(f"url must begin with http:// or https://, got {self.url!r}")
        if self.protocol not in ("assay", "sandboxfusion"):
            raise ConfigError(f"protocol must be 'assay' or 'sandboxfusion', got {self.protocol!r}")

    def run(
        self,
        jobs: Sequence[Job],
        *,
        deadline_s: float | None = None,
        cancel: threading.Event | None = None,
    ) -> list[Result]:
        """Run `jobs`; see `Sandbox.run`."""
        for job in jobs:
            execution.check(job)
        if not jobs:
            return []
        stop = Stop(deadline_s, cancel)
        first, same = duplicates(jobs)
        one = self._ours if self.protocol == "assay" else self._fusion
        with ThreadPoolExecutor(min(self.concurrency, len(first))) as threads:
            futures = {index: threads.submit(one, jobs[index], stop) for index in first}
            results = {index: future.result() for index, future in futures.items()}
        return [results[index] for index in same]

    def fingerprint(self) -> str:
        """The address and the protocol: what runs there is not ours to know."""
        return hashlib.sha256(f"http {self.url} {self.protocol}".encode()).hexdigest()[:16]

    def _post(self, path: str, body: dict[str, Any], wall_s: float) -> dict[str, Any]:
        """One request, sent again once where the server did not answer.

        Raises:
            SandboxError: It did not answer twice, or not with what we understand.
        """
        import httpx2 as httpx

        found = ""
        for _ in range(2):
            try:
                answer = httpx.post(self.url + path, json=body, timeout=wall_s + self.timeout_s)
                answer.raise_for_status()
                data = answer.json()
                if isinstance(data, dict):
                    return data
                found = f"no object but {type(data).__name__}"
            except (httpx.HTTPError, ValueError) as error:
                found = f"{type(error).__name__}: {error}"
        raise SandboxError(
            f"the sandbox server {self.url} did not answer {path}: {found}; check that it runs and "
            f"speaks the protocol {self.protocol!r}"
        )

    def _ours(self, job: Job, stop: Stop) -> Result:
        reason = stop.reason()
        if reason:
            return execution.internal_error(job, f"not finished: {reason}", self._isolation())
        wall_s = job.limits.compile_wall_s + job.limits.wall_s * len(job.tests)
        return result_from_json(self._post("/sandbox/run", job_to_json(job), wall_s))

    def _fusion(self, job: Job, stop: Stop) -> Result:
        language = _FUSION_LANGUAGES.get(job.language)
        if language is None or not isinstance(job.tests[0], StdioTest) or job.interactor:
            raise DataError(
                "SandboxFusion runs StdioTest without interactor in "
                f"{', '.join(_FUSION_LANGUAGES)}; got {type(job.tests[0]).__name__} in "
                f"{job.language!r}; use another backend"
            )
        results: list[TestResult] = []
        failures = 0
        for test in job.tests:
            reason = stop.reason()
            if reason:
                return execution.internal_error(job, f"not finished: {reason}", self._isolation())
            if job.stop_after_failures is not None and failures >= job.stop_after_failures:
                note = f"not run: stopped after {failures} failed tests"
                results.append(TestResult(Verdict.WA, reason=note, run=False))
                continue
            assert isinstance(test, StdioTest)
            body = {
                "code": job.source,
                "stdin": test.stdin,
                "language": language,
                "compile_timeout": job.limits.compile_wall_s,
                "run_timeout": job.limits.wall_s,
                "memory_limit_MB": job.limits.memory_mb,
            }
            wall_s = job.limits.compile_wall_s + job.limits.wall_s
            said = self._post("/run_code", body, wall_s)
            compiled = said.get("compile_result") or {}
            if (compiled and compiled.get("status") != "Finished") or compiled.get("return_code"):
                ce = TestResult(Verdict.CE, reason="not run: does not compile", run=False)
                message = str(compiled.get("stderr", ""))[:4096]
                return Result(Verdict.CE, (ce,) * len(job.tests), self._isolation(), message)
            results.append(_fusion_result(job, test, said))
            failures += results[-1].verdict is not Verdict.AC
        verdict = worst([result.verdict for result in results])
        return Result(verdict, tuple(results), self._isolation())

    def _isolation(self) -> dict[str, str]:
        return {"backend": "http", "server": self.url, "isolation": "the server's, unknown here"}


def _fusion_result(job: Job, test: StdioTest, said: dict[str, Any]) -> TestResult:
    """A verdict from `run_result`: status, return_code, execution_time, stdout, stderr."""
    ran = said.get("run_result") or {}
    stdout, stderr = str(ran.get("stdout") or ""), str(ran.get("stderr") or "")
    status, code = ran.get("status"), ran.get("return_code")
    if said.get("status") == "SandboxError" or status not in ("Finished", "TimeLimitExceeded"):
        verdict, reason = Verdict.IE, f"the server said {said.get('message') or status!r}"
    elif status == "TimeLimitExceeded":
        verdict, reason = Verdict.TLE, f"more than {job.limits.wall_s:g} s of wall time"
    elif code != 0:
        verdict, reason = Verdict.RE, f"exit status {code}"
    elif callable(job.checker):
        accepted = job.checker(test.stdin, stdout, test.expected)
        verdict, reason = (Verdict.AC, "") if accepted else (Verdict.WA, "the checker refused it")
    else:
        data = stdout.encode("utf-8", "surrogatepass")
        equal = outputs_equal(data, test.expected, job.comparison, job.abs_tol, job.rel_tol)
        verdict, reason = (Verdict.AC, "") if equal else (Verdict.WA, "the output differs")
    took = ran.get("execution_time")
    return TestResult(
        verdict,
        wall_s=float(took) if isinstance(took, int | float) else None,
        exit_status=code if isinstance(code, int) else None,
        stdout=stdout[:4096],
        stderr=stderr[-4096:],
        reason=reason,
    )


def job_to_json(job: Job) -> dict[str, Any]:
    """A job as our own server reads it.

    Raises:
        DataError: It has a checker function, which cannot be sent.
    """
    if job.checker is not None and callable(job.checker):
        raise DataError("a checker function cannot be sent to a server; use a JudgeProgram")
    kind = next(name for name, one in _KINDS.items() if isinstance(job.tests[0], one))
    return {
        "source": job.source,
        "language": job.language,
        "kind": kind,
        "tests": [asdict(test) for test in job.tests],
        "limits": asdict(job.limits),
        "comparison": job.comparison,
        "abs_tol": job.abs_tol,
        "rel_tol": job.rel_tol,
        "stop_after_failures": job.stop_after_failures,
        "checker": None if job.checker is None else asdict(job.checker),
        "interactor": None if job.interactor is None else asdict(job.interactor),
    }


def job_from_json(data: dict[str, Any]) -> Job:
    """The other way round, for the server.

    Raises:
        DataError: It is not a job.
    """
    from assay.sandbox.job import JudgeProgram, Limits

    def judge(one: dict[str, Any] | None) -> JudgeProgram | None:
        if one is None:
            return None
        return JudgeProgram(one["source"], one["language"], Limits(**one["limits"]))

    try:
        kind = _KINDS[data["kind"]]
        tests = []
        for one in data["tests"]:
            fields = {**one, "args": tuple(one["args"])} if kind is FunctionTest else one
            tests.append(kind(**fields))
        return Job(
            data["source"],
            tuple(tests),
            language=data.get("language", "python"),
            limits=Limits(**data.get("limits", {})),
            comparison=data.get("comparison", "tokens"),
            abs_tol=float(data.get("abs_tol", 1e-9)),
            rel_tol=float(data.get("rel_tol", 1e-9)),
            stop_after_failures=data.get("stop_after_failures"),
            checker=judge(data.get("checker")),
            interactor=judge(data.get("interactor")),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"not a job: {type(error).__name__}: {error}; see assay.sandbox.remote.job_to_json"
        ) from None


def result_to_json(result: Result) -> dict[str, Any]:
    """A result as our own server writes it."""
    return {
        "verdict": str(result.verdict),
        "tests": [asdict(test) | {"verdict": str(test.verdict)} for test in result.tests],
        "isolation": dict(result.isolation),
        "message": result.message,
        "compile_s": result.compile_s,
    }


def result_from_json(data: dict[str, Any]) -> Result:
    """The other way round.

    Raises:
        SandboxError: It is not a result.
    """
    try:
        tests = tuple(
            TestResult(**{**test, "verdict": Verdict(test["verdict"])}) for test in data["tests"]
        )
        return Result(
            Verdict(data["verdict"]), tests, data["isolation"], data["message"], data["compile_s"]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SandboxError(
            f"the server's answer is not a result: {type(error).__name__}: {error}; check that it "
            "runs the same version"
        ) from None
