"""PassRate on real programs in the sandbox: the gold answer, the empty one, and all between."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError, RewardError, SandboxError
from assay.reward import Score
from assay.rewards import PassRate, Sample
from assay.sandbox import Job, Limits, Result, Sandbox, TestResult, Verdict, default_sandbox
from tests.samples import sample

try:
    default_sandbox().run([])
    HAVE = ""
except SandboxError as error:  # pragma: no cover - depends on the machine
    HAVE = str(error)
pytestmark = pytest.mark.skipif(bool(HAVE), reason=HAVE)

SUM = json.dumps(
    [{"stdin": f"{a} {b}\n", "expected": f"{a + b}\n"} for a, b in [(1, 2), (3, 4), (0, 0), (5, 5)]]
)
REWARD = PassRate(limits=Limits(cpu_s=1, wall_s=3))


def fenced(code: str) -> str:
    return f"Here it is:\n```python\n{code}\n```"


def one(code: str, reward: PassRate = REWARD, **columns: Any) -> Score:
    (score,) = reward.evaluate([sample(fenced(code), **({"tests": SUM} | columns))])
    return score


@pytest.mark.parametrize(
    ("code", "value", "verdict"),
    [
        ("a, b = map(int, input().split())\nprint(a + b)", 1.0, "AC"),
        ("a, b = map(int, input().split())\nprint(a * b)", 0.25, "WA"),  # 0 0 only
        ("raise SystemExit(1)", 0.0, "RE"),
        ("while True: pass", 0.0, "TLE"),
        ("import os; os._exit(0)", 0.0, "WA"),
        ("def (", 0.0, "RE"),
    ],
)
def test_stdio_programs(code: str, value: float, verdict: str) -> None:
    score = one(code)
    assert score.value == value
    assert score.passed is (value == 1.0)
    assert score.info["verdict"] == verdict
    assert (score.info["passed"], score.info["total"]) == (int(value * 4), 4)
    assert len(score.info["tests"]) == 4


def test_no_code_is_zero_not_missing_and_nothing_runs() -> None:
    for text, note in [
        ("", "no code block"),
        ("just words", "no code block"),
        ("```cpp\nint main(){}\n```", "no python block, only cpp"),
        ("```python\n```", "the code block is empty"),
    ]:
        (score,) = REWARD.evaluate([sample(text, tests=SUM)])
        assert (score.value, score.passed) == (0.0, False)
        assert note in score.note


def test_binary_gives_no_partial_credit_and_stops_early() -> None:
    half = "a, b = map(int, input().split())\nprint(a * b)"
    score = one(half, replace(REWARD, binary=True))
    assert (score.value, score.passed) == (0.0, False)
    assert score.info["tests"][1:] == ["-", "-", "-"]
    assert one("print(sum(map(int, input().split())))", replace(REWARD, binary=True)).value == 1.0


def test_stopping_early_marks_the_rate_as_a_lower_bound() -> None:
    score = one(
        "a, b = map(int, input().split())\nprint(a * b)", replace(REWARD, stop_after_failures=2)
    )
    assert score.info["lower_bound"] is True


def test_function_calls_compare_outside() -> None:
    tests = json.dumps([{"args": [2], "expected": [4, {"x": 2}]}])
    assert one("def f(n): return (n * n, {'x': n})", tests=tests, entry_point="f").value == 1.0
    cheat = "class Yes:\n    def __eq__(self, other): return True\ndef f(n): return Yes()"
    assert one(cheat, tests=tests, entry_point="f").value == 0.0


HUMANEVAL = {
    "test": "def check(candidate):\n"
    "    assert True, 'nothing'\n"
    "    assert candidate(helper(1)) == 4\n"
    "    assert candidate(0) == 0\n"
    "    for i in range(3):\n"
    "        assert candidate(i) == i * i\n",
    "entry_point": "square",
}
PROMPT = 'def helper(x):\n    return x + 1\n\ndef square(x):\n    """Square of x."""\n'


def humaneval(completion: str, reward: PassRate = REWARD) -> Score:
    (score,) = reward.evaluate([Sample.of(PROMPT, completion, HUMANEVAL)])
    return score


def test_humaneval_rows() -> None:
    score = humaneval(fenced(PROMPT + "    return x * x"))
    assert (score.value, score.info["total"]) == (1.0, 3)
    assert humaneval(fenced("def square(x):\n    return x * x")).value == 1.0  # helper left out
    assert humaneval(fenced("def square(x):\n    return 0")).value == pytest.approx(1 / 3)


def test_humaneval_tests_use_the_prompts_own_helpers() -> None:
    """A program that replaces a helper is not tested against its own."""
    cheat = "def helper(x):\n    return 0\n\ndef square(x):\n    return 0"
    assert humaneval(fenced(cheat)).info["tests"][0] == "WA"


def test_raw_continuations_need_to_be_asked_for() -> None:
    body = "    return x * x\n"
    assert humaneval(body).value == 0.0
    assert humaneval(body, replace(REWARD, bare="continue")).value == 1.0


def test_a_row_without_tests_is_a_data_error_with_its_index() -> None:
    rows = [sample(fenced("print(1)"), tests=SUM), sample(fenced("print(1)"))]
    with pytest.raises(DataError, match="'pass_rate': the row has no tests") as error:
        REWARD.evaluate(rows)
    assert error.value.index == 1
    scores = replace(REWARD, no_tests="skip").evaluate(rows)
    assert [s.status for s in scores] == ["scored", "skipped"]
    with pytest.raises(DataError, match="is text but not JSON") as error:
        REWARD.evaluate([sample("x", tests="{")])
    assert error.value.index == 0


def test_check_before_training() -> None:
    with pytest.raises(DataError, match="'tests', or the columns of"):
        REWARD.check({"prompt": ["p"]})
    REWARD.check({"prompt": ["p"], "tests": ["[]"]})
    REWARD.check({"prompt": ["p"], "test": ["t"], "entry_point": ["e"]})


@dataclass(frozen=True)
class Fails(Sandbox):
    """A sandbox whose machine breaks: every second job is an internal error."""

    everything: bool = False

    def run(self, jobs: Sequence[Job]) -> list[Result]:
        if self.everything:
            raise SandboxError("no backend works here: install bubblewrap")
        good = Result(Verdict.AC, (TestResult(Verdict.AC),) * 4)
        bad = Result(Verdict.IE, (TestResult(Verdict.IE, reason="worker died"),) * 4)
        return [bad if i % 2 else good for i in range(len(jobs))]

    def fingerprint(self) -> str:
        return "fails"


def test_an_internal_error_is_failed_never_zero() -> None:
    rows = [sample(fenced(f"print({i})"), tests=SUM) for i in range(4)]
    scores = PassRate(Fails()).evaluate(rows)
    assert [s.value for s in scores] == [1.0, None, 1.0, None]
    assert scores[1].status == "failed"
    assert scores[1].note == "sandbox: worker died"


def test_no_backend_fails_the_batch_and_says_the_way_out() -> None:
    with pytest.raises(RewardError, match="install bubblewrap"):
        PassRate(Fails(everything=True))(completions=[fenced("print(1)")], tests=[SUM])


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="must be a Sandbox or None, got str"):
        PassRate("bubblewrap")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"PassRate\.bare must be one of"):
        PassRate(bare="yes")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"PassRate\.no_tests must be one of"):
        PassRate(no_tests="zero")  # type: ignore[arg-type]


def test_batch_order_and_identity() -> None:
    rows = [sample(fenced(c), tests=SUM) for c in ["print(3)", "print(0)", "x", "print(7)"]]
    together = REWARD.evaluate(rows)
    assert together == [REWARD.evaluate([row])[0] for row in rows]
    assert REWARD.evaluate(rows[::-1]) == together[::-1]
    assert REWARD.evaluate([]) == []


def _in_spawned_daemon(reward: PassRate, queue: Any) -> None:
    queue.put(reward(completions=[fenced("print(sum(map(int, input().split())))")], tests=[SUM]))
    reward.sandbox.close() if reward.sandbox else default_sandbox().close()


def test_pickles_and_works_in_a_spawned_daemon() -> None:
    assert pickle.loads(pickle.dumps(REWARD)) == REWARD
    assert pickle.loads(pickle.dumps(REWARD)).fingerprint() == REWARD.fingerprint()
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=_in_spawned_daemon, args=(REWARD, queue), daemon=True)
    child.start()
    assert queue.get(timeout=60) == [1.0]
    child.join(30)
    assert child.exitcode == 0


@pytest.mark.skipif(
    "ASSAY_DATA" not in os.environ, reason="ASSAY_DATA names no folder of data sets"
)
def test_humanevals_canonical_solutions_get_full_marks() -> None:
    path = Path(os.environ["ASSAY_DATA"], "humaneval", "HumanEval.jsonl.gz")
    if not path.exists():
        pytest.skip(f"ASSAY_DATA has no {path.name}")
    with gzip.open(path, "rt") as lines:
        problems = [json.loads(line) for line in lines]
    rows = [
        Sample.of(p["prompt"], fenced(p["prompt"] + p["canonical_solution"]), p) for p in problems
    ]
    scores = PassRate().evaluate(rows)
    assert [s.note for s in scores if s.value != 1.0] == []
    empty = [Sample.of(p["prompt"], fenced(p["prompt"] + "    pass"), p) for p in problems]
    assert [s.value for s in PassRate().evaluate(empty) if s.passed] == []


@pytest.mark.skipif(
    "ASSAY_DATA" not in os.environ, reason="ASSAY_DATA names no folder of data sets"
)
def test_mbpps_own_solutions_get_full_marks() -> None:
    path = Path(os.environ["ASSAY_DATA"], "mbpp", "mbpp.jsonl.gz")
    if not path.exists():
        pytest.skip(f"ASSAY_DATA has no {path.name}")
    with gzip.open(path, "rt") as lines:
        problems = [json.loads(line) for line in lines][::4]
    scores = PassRate().evaluate([sample(fenced(p["code"]), p["text"], **p) for p in problems])
    assert [
        (p["task_id"], s.note) for p, s in zip(problems, scores, strict=True) if not s.passed
    ] == []


def test_a_checker_function_decides() -> None:
    reward = replace(REWARD, checker=any_order)
    tests = [{"stdin": "", "expected": "1 2 3"}]
    assert one("print(3, 2, 1)", reward, tests=tests).value == 1.0
    assert one("print(3, 2)", reward, tests=tests).value == 0.0


def any_order(stdin: str, stdout: str, expected: str) -> bool:
    return sorted(stdout.split()) == sorted(expected.split())


def test_a_rows_own_checker_and_comparison() -> None:
    checker = "import sys\nsys.exit(0 if open(sys.argv[2]).read().strip() == '42' else 1)"
    tests = {"cases": [{"stdin": "", "expected": "x"}], "checker": {"source": checker}}
    assert one("print(42)", tests=json.dumps(tests)).value == 1.0
    assert one("print(41)", tests=tests).value == 0.0
    tests = {"cases": [{"stdin": "", "expected": "0.3"}], "comparison": "floats"}
    assert one("print(0.1 + 0.2)", tests=tests).value == 1.0


def test_cost_counts_programs_and_tests_without_running_any() -> None:
    tests = json.dumps([{"stdin": "", "expected": "1"}] * 3)
    rows = [sample(f"```python\n{i}\n```", tests=tests) for i in range(2)]
    reward = PassRate()
    assert reward.cost([*rows, sample("no code", tests=tests)]) == {"programs": 2, "tests": 6}
    with pytest.raises(DataError, match="has no tests"):
        reward.cost([sample("```python\n1\n```")])
