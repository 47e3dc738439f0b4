from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assay.cli import app
from assay.errors import ConfigError, DataError
from assay.judge import TurnVerdict
from assay.judges.turn_critic import RuleCritic
from assay.messages import Message, ToolCall, Trajectory
from assay.policy.data.horizon import failure_kind, horizon_report
from assay.policy.data.horizon_job import HorizonJob
from assay.policy.data.horizon_measures import auc, auc_interval
from assay.policy.data.mistakes import mistake_report
from assay.policy.data.planted_faults import KINDS, plant
from assay.policy.data.trajectories import trajectory_row, write_trajectories
from assay.policy.environments import generate, play
from assay.policy.environments.agents import Oracle

FIND = {
    "name": "find",
    "parameters": {
        "type": "object",
        "properties": {"q": {"type": "string"}},
        "required": ["q"],
    },
}
FAIL = TurnVerdict(False, None, None)
OPEN = TurnVerdict(None, None, None)


def run(calls: int, outcome: float | None, name: str = "", last: str = "It is done.") -> Trajectory:
    messages = [Message("user", "Find the records of all of them, please.")]
    for i in range(calls):
        text = f"REC{i:03d}A and REC{i:03d}B hold {1000 + 137 * i * i + 3} items of lot LOT{i:03d}Z"
        messages.append(Message("assistant", tool_calls=(ToolCall("find", {"q": f"lot {i}"}),)))
        messages.append(Message("tool", text, name="find"))
        said = f"There are REC{i:03d}A and REC{i:03d}B, of LOT{i:03d}Z."
        messages += [Message("assistant", said), Message("user", "And then?")]
    messages.append(Message("assistant", last))
    return Trajectory(tuple(messages), (FIND,), outcome, name)


def test_success_by_turns_and_depth() -> None:
    runs = [run(1, 1.0), run(1, 0.0), run(8, 0.0), run(8, None)]
    report = horizon_report(runs, RuleCritic().review(runs))
    assert [(b.low, b.high, b.runs, b.successes) for b in report.by_turns] == [
        (0, 5, 2, 1),
        (11, 20, 1, 0),
    ]
    assert [(b.low, b.high, b.runs) for b in report.by_depth] == [(0, 5, 2), (6, 10, 1)]
    known = [replace(one, info={"depth": 300}) for one in runs]
    assert horizon_report(known, RuleCritic().review(known)).by_depth[0].low == 201
    assert sum(part.turns for part in report.along) == 3 + 3 + 17 + 17
    assert json.loads(json.dumps(report.to_json()))["runs"][0]["success"] is True


def test_kinds_of_failure() -> None:
    loop = TurnVerdict(False, None, None, findings=("loop",))
    wrong = TurnVerdict(None, False, None, findings=("unknown_tool",))
    one = run(1, 0.0)
    assert failure_kind(one, [OPEN, OPEN, OPEN]) == "wrong result"
    assert failure_kind(one, [OPEN, loop, OPEN]) == "loop"
    assert failure_kind(one, [wrong, OPEN, OPEN]) == "incoherent call"
    assert failure_kind(run(1, 0.0, last="I cannot do this."), [OPEN] * 3) == "gives up"
    assert failure_kind(replace(one, budget=1), [OPEN] * 3) == "budget used up"
    cut = replace(one, info={"finish_reason": "length"})
    assert failure_kind(cut, [loop] * 3) == "context overflow"


def test_areas_by_hand_and_against_scikit_learn() -> None:
    # Pairs (positive, negative): (3,1) (3,3)= half (2,1) (2,3): 1 + .5 + 1 + 0 of 4.
    scores, kinds = [3.0, 2.0, 1.0, 3.0], [True, True, False, False]
    assert auc(scores, kinds) == 0.625
    metrics = pytest.importorskip("sklearn.metrics")
    assert auc(scores, kinds) == metrics.roc_auc_score(kinds, scores)
    assert math.isnan(auc([1.0], [True]))
    found = auc_interval([1.0, 2, 3, 4] * 10, [False, False, True, True] * 10)
    assert found.estimate == 1.0 and found.low == 1.0
    same = auc_interval(scores * 9, kinds * 9, against=scores * 9)
    assert (same.estimate, same.low, same.high) == (0.0, 0.0, 0.0)


def test_steps_that_broke_runs() -> None:
    def labelled(step: int, failing: int | None) -> tuple[Trajectory, list[TurnVerdict]]:
        one = replace(run(2, 0.0), info={"mistake_step": step, "steps": 5})
        return one, [FAIL if i == failing else OPEN for i in range(5)]

    pairs = [labelled(i % 5, i % 5) for i in range(40)] + [labelled(3, None)]
    report = mistake_report([r for r, _ in pairs], [v for _, v in pairs])
    critic, filled, constant, _ = report.ways
    assert (report.runs, critic.guesses) == (41, 40)
    assert critic.exact.estimate == pytest.approx(40 / 41) and critic.p_exact == pytest.approx(
        1e-4, rel=0.1
    )
    assert filled.exact.estimate == 1.0  # step 3 is the most frequent one
    assert constant.exact.estimate == pytest.approx(9 / 41) and report.beats_constant
    flat = [labelled(i % 5, 2) for i in range(40)]  # a constant guess is no better than chance
    found = mistake_report([r for r, _ in flat], [v for _, v in flat])
    assert found.ways[0].p_exact == 1.0 and not found.beats_constant
    with pytest.raises(DataError, match="no run says its `mistake_step`"):
        mistake_report([run(1, 0.0)], [[OPEN] * 3])


@pytest.mark.parametrize("kind", KINDS)
def test_planted_faults_are_found_and_clean_turns_are_not(kind: str) -> None:
    critic = RuleCritic()
    good = [run(n, 1.0, str(n)) for n in range(3, 13)]
    assert not any(v.passed is False for one in critic.review(good) for v in one)
    planted = [one for good_run in good if (one := plant(good_run, kind, [FIND])) is not None]
    assert len(planted) >= 8
    reviews = critic.review([one.run for one in planted])
    assert all(r[one.turn].passed is False for one, r in zip(planted, reviews, strict=True))


def test_no_oracle_run_of_a_generated_environment_is_flagged() -> None:
    runs = [play(spec, Oracle(spec)).trajectory for spec in generate(140, seed=5)]
    reviews = RuleCritic().review(runs)
    wrong = [(one.id, v.reason) for one, r in zip(runs, reviews, strict=True)
             for v in r if v.passed is False]  # fmt: skip
    assert not wrong


def test_a_bound_that_no_outcome_reaches_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="success must be a finite outcome"):
        HorizonJob(tmp_path / "runs.jsonl", success=math.nan).run()


def test_the_command(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    runs = [run(n % 6 + 1, float(n % 2), str(n)) for n in range(12)]
    file, output = tmp_path / "runs.jsonl", tmp_path / "reviewed.jsonl"
    write_trajectories(file, [replace(one, tools=()) for one in runs])
    plot, report = tmp_path / "h.svg", tmp_path / "r.json"
    done = CliRunner().invoke(
        app,
        ["audit", "trajectories", str(file), "--plot", str(plot), "--output", str(output),
         "--json", str(report)],
        env={"COLUMNS": "200"},
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "failing turns" in done.output and "tenth of the run" in done.output
    found = json.loads(report.read_text())
    assert found["inferred_tools"] == ["find"] and len(found["runs"]) == 12
    assert plot.read_text().lstrip().startswith("<?xml")
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert len(rows[0]["verdicts"]) == len(runs[0].turns)


def test_the_command_on_labelled_rows(tmp_path: Path) -> None:
    history = [
        {"name": "Planner", "role": "assistant", "content": "The task: name the capital."},
        {"name": "Expert", "role": "user", "content": "It is LOT12345 or REC99887 for 1234.5."},
        {"name": "Checker", "role": "user", "content": "Good."},
    ]
    rows = [{"history": history, "mistake_step": "1", "question_ID": str(i)} for i in range(6)]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = CliRunner().invoke(
        app, ["audit", "trajectories", str(file), "--labelled"], env={"COLUMNS": "200"}
    )
    assert done.exit_code == 0, done.output
    assert "always step 1" in done.output and "best constant guess" in done.output


def test_wrong_settings(tmp_path: Path) -> None:
    file = tmp_path / "runs.jsonl"
    file.write_text(json.dumps(trajectory_row(run(1, 1.0))) + "\n")
    with pytest.raises(ConfigError, match=r"must end in one of"):
        HorizonJob(file, plot=tmp_path / "h.gif")
    with pytest.raises(ConfigError, match="give --model"):
        HorizonJob(file, base_url="http://x")
    done = CliRunner().invoke(app, ["audit", "trajectories", str(file), "--success", "nan"])
    assert done.exit_code == 2 and "finite outcome" in done.output
    (tmp_path / "tools.json").write_text("{}")
    with pytest.raises(DataError, match="must hold a JSON list"):
        HorizonJob(file, tools=tmp_path / "tools.json").run()
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(DataError, match="holds no runs"):
        HorizonJob(tmp_path / "empty.jsonl").run()
    with pytest.raises(ConfigError, match="kind must be one of"):
        plant(run(1, 1.0), "typo", [FIND])
