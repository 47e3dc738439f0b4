from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError, RewardError
from assay.judges.engines import InProcess
from assay.judges.job_plan import plan
from assay.judges.job_report import Report
from assay.judges.manifest import manifest_path
from assay.judges.offline import OfflineJob
from assay.judges.selection import Shard
from assay.rewards import Reward, Sample, Score
from tests.judges import toy_rewards

TOYS = Path(toy_rewards.__file__)


@dataclass
class Notes:
    """A listener that remembers."""

    total: int = -1
    done: int = -1
    rows: int = 0
    complaints: list[tuple[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def started(self, total: int, done: int) -> None:
        self.total, self.done = total, done

    def advanced(self, rows: int, cost: float = 0.0) -> None:
        self.rows += rows

    def bad(self, place: str, reason: str) -> None:
        self.complaints.append((place, reason))

    def warned(self, text: str) -> None:
        self.warnings.append(text)


def write_rows(path: Path, count: int = 50, **special: str) -> Path:
    with path.open("w") as file:
        for i in range(count):
            completion = special.get(f"at{i}", "x" * (i % 15))
            file.write(json.dumps({"prompt": "p", "completion": completion, "n": i % 90}) + "\n")
    return path


def write_groups(path: Path, groups: int = 12, size: int = 4, **special: str) -> Path:
    """Rows of a group stand `groups` lines apart."""
    with path.open("w") as file:
        for i in range(groups * size):
            completion = special.get(f"at{i}", "x" * (i * 7 % 23))
            row = {"id": f"r{i}", "uid": i % groups, "prompt": "p", "completion": completion}
            file.write(json.dumps(row) + "\n")
    return path


def job(tmp_path: Path, reward: Reward = toy_rewards.reward, **settings: Any) -> OfflineJob:
    settings = {"input": tmp_path / "in.jsonl", "output": tmp_path / "out.jsonl"} | settings
    return OfflineJob(reward=reward, **settings)


def run(tmp_path: Path, reward: Reward = toy_rewards.reward, **settings: Any) -> Report:
    return job(tmp_path, reward, **settings).run(Notes())


def results(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def in_order(path: Path) -> list[str]:
    return sorted(path.read_text().splitlines())


def test_a_row_of_the_output(tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", 3)
    run(tmp_path)
    number = {"inf": "Infinity", "odd": [1, 2]}
    part = {"status": "scored", "turns": None, "parts": {}}
    # Row 3: completion "xx", n 2: 2/10 + 0.5 * 2/100 = 0.21.
    assert results(tmp_path / "out.jsonl")[2] == {
        "id": 3,
        "value": pytest.approx(0.21),
        "status": "scored",
        "passed": False,
        "turns": None,
        "parts": {
            "brief": part | {"value": 0.2, "passed": False, "note": "too short", "info": {}},
            "number": part | {"value": 0.02, "passed": None, "note": "", "info": number},
        },
        "note": "brief: too short",
        "info": {"weighted": {"brief": 0.2, "number": 0.01}},
    }
    assert list(results(tmp_path / "out.jsonl")[2]) == [
        "id", "value", "status", "passed", "turns", "parts", "note", "info",
    ]  # fmt: skip


@pytest.mark.parametrize("batch_size", [1, 7, 64, 1000])
def test_the_batch_size_changes_nothing(tmp_path: Path, batch_size: int) -> None:
    write_rows(tmp_path / "in.jsonl")
    run(tmp_path, output=tmp_path / "whole.jsonl")
    report = run(tmp_path, batch_size=batch_size)
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert (report.selected, report.written, report.bad) == (50, 50, 0)


def test_shards_together_are_the_whole(tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl")
    run(tmp_path, output=tmp_path / "whole.jsonl")
    for i in range(3):
        run(tmp_path, output=tmp_path / f"part{i}.jsonl", shard=Shard(i, 3))
    parts = [line for i in range(3) for line in in_order(tmp_path / f"part{i}.jsonl")]
    assert sorted(parts) == in_order(tmp_path / "whole.jsonl")


@pytest.mark.parametrize("word", ["unusable", "unusable somewhere"])
def test_a_row_that_the_reward_cannot_use_costs_only_itself(tmp_path: Path, word: str) -> None:
    write_rows(tmp_path / "in.jsonl", 20, at4=word, at5=word, at19=word)
    notes = Notes()
    report = job(tmp_path).run(notes)
    assert (report.written, report.bad, notes.rows) == (17, 3, 20)
    places = [place.rpartition("/")[2] for place, _ in notes.complaints]
    assert places == ["in.jsonl:5", "in.jsonl:6", "in.jsonl:20"]
    assert "cannot be used" in notes.complaints[0][1]
    assert {5, 6, 20}.isdisjoint(r["id"] for r in results(tmp_path / "out.jsonl"))


def test_strict_stops_at_the_first_bad_row(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "in.jsonl", 20)
    path.write_text(path.read_text() + "nonsense\n")
    with pytest.raises(DataError, match=r"in\.jsonl:21: not JSON"):
        run(tmp_path, strict=True)
    assert (tmp_path / "out.jsonl").read_bytes() == b""  # found before anything was scored
    write_rows(tmp_path / "in.jsonl", 20, at12="unusable")
    with pytest.raises(DataError, match=r"in\.jsonl:13: this completion cannot be used"):
        run(tmp_path, strict=True, batch_size=5)
    assert [r["id"] for r in results(tmp_path / "out.jsonl")] == list(range(1, 11))


def test_a_crash_of_the_reward_names_it_and_the_lines(tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", 20, at12="crash")
    with pytest.raises(
        RewardError, match=r"'reward' raised KeyError: 'boom', on lines 11 to 15; .*Score\.fail"
    ):
        run(tmp_path, batch_size=5)
    assert len(results(tmp_path / "out.jsonl")) == 10


def test_too_many_failures_end_the_job_and_a_resume_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(tmp_path / "in.jsonl", 20)
    monkeypatch.setenv("ASSAY_TEST_DOWN", "1")
    with pytest.raises(
        RewardError,
        match=r"'reward/number' failed on 8 of the 8 rows .*max-error-rate 0\.5.*divider is down",
    ):
        run(tmp_path, batch_size=8)
    assert (tmp_path / "out.jsonl").read_bytes() == b""
    assert json.loads(manifest_path(tmp_path / "out.jsonl").read_text())["state"] == "failed"
    monkeypatch.delenv("ASSAY_TEST_DOWN")
    assert run(tmp_path, resume=True).written == 20


def test_failures_are_counted_over_the_whole_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(tmp_path / "in.jsonl", 20)

    class Break(Notes):
        def advanced(self, rows: int, cost: float = 0.0) -> None:
            super().advanced(rows, cost)
            if self.rows == 12:
                monkeypatch.setenv("ASSAY_TEST_DOWN", "1")

    # 12 good rows, then 4 and 4 failed: 4 of 16 = 0.25 passes, 8 of 20 = 0.4 does not.
    with pytest.raises(RewardError, match="failed on 8 of the 20 rows"):
        job(tmp_path, batch_size=4, max_error_rate=0.3).run(Break())
    assert len(results(tmp_path / "out.jsonl")) == 16


def test_retry_failed_scores_again_what_failed_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(tmp_path / "in.jsonl", 20)
    run(tmp_path, toy_rewards.bonus, output=tmp_path / "whole.jsonl")
    run(tmp_path, toy_rewards.bonus, limit=8)
    monkeypatch.setenv("ASSAY_TEST_DOWN", "1")
    # The failed part is zeroed, so the sum itself is scored.
    run(tmp_path, toy_rewards.bonus, limit=14, resume=True, max_error_rate=1.0)
    monkeypatch.delenv("ASSAY_TEST_DOWN")
    kept = run(tmp_path, toy_rewards.bonus, resume=True)
    assert (kept.already, kept.written, kept.redone) == (14, 6, 0)
    again = run(tmp_path, toy_rewards.bonus, resume=True, retry_failed=True)
    assert (again.already, again.written, again.redone) == (14, 6, 6)
    assert in_order(tmp_path / "out.jsonl") == in_order(tmp_path / "whole.jsonl")


def test_a_finished_job_has_nothing_left(tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl")
    run(tmp_path)
    before = (tmp_path / "out.jsonl").read_bytes()
    report = run(tmp_path, resume=True)
    assert (report.already, report.written) == (50, 0)
    assert (tmp_path / "out.jsonl").read_bytes() == before
    assert report.summary.rows == 50  # the summary is about the file, not about this run


def test_resume_refuses_another_reward_input_map_or_shard(tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl")
    run(tmp_path, limit=10)
    with pytest.raises(ConfigError, match="made differently: the reward's fingerprint changed"):
        run(tmp_path, toy_rewards.brief, resume=True)
    with pytest.raises(ConfigError, match="--map, --shard changed since; .*--force"):
        run(tmp_path, resume=True, rename={"m": "n"}, shard=Shard(0, 2))
    with pytest.raises(ConfigError, match="the reward's source file changed"):
        run(tmp_path, resume=True, source=TOYS)
    write_rows(tmp_path / "in.jsonl", 60)
    with pytest.raises(ConfigError, match="the input's content changed"):
        run(tmp_path, resume=True)
    assert len(results(tmp_path / "out.jsonl")) == 10
    assert run(tmp_path, resume=True, force=True).written == 50
    assert run(tmp_path, resume=True).already == 60  # forced once, the file is the new job's


def test_resume_without_a_manifest_is_refused(tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl")
    run(tmp_path)
    manifest_path(tmp_path / "out.jsonl").unlink()
    with pytest.raises(ConfigError, match=r"has no out\.jsonl\.manifest\.json"):
        run(tmp_path, resume=True)
    for damaged in ("[]", '{"reward": '):
        manifest_path(tmp_path / "out.jsonl").write_text(damaged)
        with pytest.raises(ConfigError, match="cannot read .*continue with --force"):
            run(tmp_path, resume=True)


def test_the_output_cannot_be_the_input(tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl")
    with pytest.raises(ConfigError, match="is the input"):
        job(tmp_path, output=tmp_path / "in.jsonl")


def test_groups_are_scored_whole_wherever_their_rows_stand(tmp_path: Path) -> None:
    write_groups(tmp_path / "in.jsonl")
    for batch_size in (1, 5, 1000):
        out = tmp_path / f"{batch_size}.jsonl"
        run(tmp_path, toy_rewards.rank, batch_size=batch_size, output=out)
        assert {r["info"]["group_size"] for r in results(out)} == {4}
        assert in_order(out) == in_order(tmp_path / "1.jsonl")


def test_a_bad_row_costs_its_group(tmp_path: Path) -> None:
    write_groups(tmp_path / "in.jsonl", at5="unusable")
    notes = Notes()
    report = job(tmp_path, toy_rewards.rank).run(notes)
    assert (report.written, report.bad) == (44, 4)
    assert [place.rpartition(":")[2] for place, _ in notes.complaints] == ["6", "18", "30", "42"]
    assert notes.complaints[1][1].startswith("its group cannot be scored without line 6")


@pytest.mark.parametrize("reward", ["reward", "rank"])
def test_cut_at_any_byte_a_resume_completes_the_file(tmp_path: Path, reward: str) -> None:
    chosen: Reward = getattr(toy_rewards, reward)
    if reward == "rank":
        write_groups(tmp_path / "in.jsonl")
    else:
        write_rows(tmp_path / "in.jsonl")
    out = tmp_path / "out.jsonl"
    run(tmp_path, chosen, batch_size=8)
    whole = out.read_bytes()
    random.seed(8)
    for cut in [0, 1, len(whole) - 1, *random.sample(range(len(whole)), 40)]:
        out.write_bytes(whole[:cut])
        report = run(tmp_path, chosen, batch_size=8, resume=True)
        assert sorted(out.read_bytes().splitlines()) == sorted(whole.splitlines()), cut
        assert report.already + report.written == report.selected
        if reward == "reward":
            finished = whole[:cut].count(b"\n")
            assert report.already == finished  # nothing that was finished is scored twice


def command(tmp_path: Path, reward: str, *options: str) -> list[str]:
    return [
        sys.executable, "-m", "assay", "score", "--reward", f"{TOYS}:{reward}",
        "--input", str(tmp_path / "in.jsonl"), "--output", str(tmp_path / "out.jsonl"),
        "--batch-size", "8", *options,
    ]  # fmt: skip


def wait_for(path: Path, size: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        if path.exists() and path.stat().st_size > size:
            return
        time.sleep(0.005)


@pytest.mark.parametrize(("reward", "seed"), [("slow", 1), ("slow_rank", 2)])
def test_killed_at_random_moments_nothing_is_lost_or_doubled(
    tmp_path: Path, reward: str, seed: int
) -> None:
    chosen: Reward = getattr(toy_rewards, reward)
    if reward == "slow_rank":
        write_groups(tmp_path / "in.jsonl", groups=80)
    else:
        write_rows(tmp_path / "in.jsonl", 320)
    run(tmp_path, chosen, output=tmp_path / "whole.jsonl")
    out = tmp_path / "out.jsonl"
    random.seed(seed)
    kills = 0
    for _ in range(6):
        before = out.read_bytes() if out.exists() else b""
        process = subprocess.Popen(
            command(tmp_path, reward, "--resume"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(out, len(before), process)
        time.sleep(random.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        after = out.read_bytes() if out.exists() else b""
        if reward == "slow":
            finished = before[: before.rfind(b"\n") + 1]
            assert after.startswith(finished)  # what was finished is never written anew
    done = subprocess.run(command(tmp_path, reward, "--resume"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert kills >= 3  # else the job was too short for this test to say anything
    assert in_order(out) == in_order(tmp_path / "whole.jsonl")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_in_good_order_and_says_how_to_go_on(
    tmp_path: Path, number: signal.Signals
) -> None:
    write_rows(tmp_path / "in.jsonl", 20_000)  # more than it can do before the signal comes
    process = subprocess.Popen(
        command(tmp_path, "slow"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A test run in the background of a shell inherits an ignored SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_for(tmp_path / "out.jsonl", 0, process)
    time.sleep(0.1)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 1
    rows = results(tmp_path / "out.jsonl")
    assert f"{len(rows)} of 20,000 rows are in" in stderr.decode()
    assert "continue with the same command and --resume" in stderr.decode()
    assert "Traceback" not in stderr.decode()
    assert "full marks" in stdout.decode()  # the table of what there is
    manifest = json.loads(manifest_path(tmp_path / "out.jsonl").read_text())
    assert (manifest["state"], manifest["counts"]["written"]) == ("stopped", len(rows))


def test_the_manifest_tells_what_was_made_from_what(tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl")
    run(tmp_path, about={"spec": "toys.py:reward"}, source=TOYS)
    manifest = json.loads(manifest_path(tmp_path / "out.jsonl").read_text())
    assert manifest["reward"] == toy_rewards.reward.fingerprint()
    assert len(manifest["source"]) == len(manifest["input"]) == 64
    assert (manifest["rename"], manifest["shard"], manifest["state"]) == ({}, "0/1", "done")
    assert manifest["counts"] == {
        "selected": 50, "already": 0, "written": 50, "bad": 0, "redone": 0,
    }  # fmt: skip
    assert manifest["about"]["spec"] == "toys.py:reward"
    assert set(manifest["versions"]) == {"assay", "python"}


def test_a_plan_writes_nothing_and_tells_the_cost(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "in.jsonl", 20)
    path.write_text(path.read_text() + "nonsense\n" + '{"completion": "c"}\n')
    planned = plan(job(tmp_path, limit=12), Notes())
    assert sorted(os.listdir(tmp_path)) == ["in.jsonl"]
    assert (planned.selected, planned.already, planned.remaining, planned.groups) == (
        12,
        0,
        12,
        None,
    )
    assert planned.columns == {"n": 12}
    brief, number = planned.leaves
    assert (brief.path, brief.columns, brief.cost) == ("brief", (), {})
    assert (number.path, number.columns, number.cost) == ("number", ("n",), {"divisions": 12})
    run(tmp_path, limit=5)
    before = (tmp_path / "out.jsonl").read_bytes()
    resumed = plan(job(tmp_path, limit=12, resume=True), Notes())
    assert (resumed.already, resumed.remaining) == (5, 7)
    assert resumed.leaves[1].cost == {"divisions": 7}
    assert (tmp_path / "out.jsonl").read_bytes() == before


def test_a_plan_of_groups(tmp_path: Path) -> None:
    write_groups(tmp_path / "in.jsonl")
    planned = plan(job(tmp_path, toy_rewards.rank), Notes())
    assert (planned.selected, planned.groups) == (48, 12)


def test_memory_stays_flat(tmp_path: Path) -> None:
    """Ten times the rows may not take more than what their ids and values need."""
    peaks = []
    for count in (5_000, 50_000):
        write_rows(tmp_path / "in.jsonl", count)
        script = (
            "import resource, sys; from pathlib import Path\n"
            "from assay.judges.offline import OfflineJob\n"
            "from tests.judges import test_offline, toy_rewards\n"
            "OfflineJob(toy_rewards.brief, Path(sys.argv[1]), Path(sys.argv[2]), batch_size=512)"
            ".run(test_offline.Notes())\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        out = tmp_path / f"{count}.jsonl"
        arguments = [sys.executable, "-c", script, str(tmp_path / "in.jsonl"), str(out)]
        peaks.append(int(subprocess.check_output(arguments)))
    assert peaks[1] - peaks[0] < 45_000 * 200 / 1024 + 4_000  # KiB: 200 bytes a row and some slack


def test_a_reward_without_a_fingerprint_is_a_warning(tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", 3)
    notes = Notes()
    reward = Unhashable(object())
    job(tmp_path, reward).run(notes)
    assert "no fingerprint" in notes.warnings[0]


@dataclass(frozen=True)
class Unhashable(toy_rewards.Brief):
    thing: object = None

    def __init__(self, thing: object) -> None:
        super().__init__()
        object.__setattr__(self, "thing", thing)


def test_every_row_gets_one_result(tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", 321)
    report = run(tmp_path, batch_size=10)
    ids: Sequence[int] = [r["id"] for r in results(tmp_path / "out.jsonl")]
    assert ids == list(range(1, 322))
    assert report.to_json()["summary"]["total"]["rows"]["scored"] == 321


class Exits(Reward):
    name = "exits"

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        raise SystemExit(0)


def test_a_reward_that_exits_does_not_end_the_job_as_if_all_were_done(tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", 3)
    with pytest.raises(RewardError, match=r"'exits' raised SystemExit: 0, on lines 1 to 3"):
        run(tmp_path, Exits())


def test_a_rare_leaf_that_fails_on_its_first_row_does_not_end_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(tmp_path / "in.jsonl", 20)

    class Mend(Notes):
        def advanced(self, rows: int, cost: float = 0.0) -> None:
            monkeypatch.delenv("ASSAY_TEST_DOWN", raising=False)

    monkeypatch.setenv("ASSAY_TEST_DOWN", "1")
    report = job(tmp_path, batch_size=4).run(Mend())
    assert (report.written, report.problem) == (20, "")
    assert run(tmp_path, retry_failed=True, resume=True).redone == 4


def test_too_many_failures_are_told_at_the_end_where_they_are_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rows(tmp_path / "in.jsonl", 7)
    monkeypatch.setenv("ASSAY_TEST_DOWN", "1")
    report = run(tmp_path)
    assert "'reward/number' failed on 7 of the 7 rows" in report.problem
    assert json.loads(manifest_path(tmp_path / "out.jsonl").read_text())["state"] == "failed"


def test_a_linked_input_is_not_the_output(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "in.jsonl", 3)
    (tmp_path / "link.jsonl").hardlink_to(source)
    with pytest.raises(ConfigError, match="is the input"):
        job(tmp_path, output=tmp_path / "link.jsonl")


@pytest.mark.parametrize("rate", [-0.1, 1.5, float("nan")])
def test_the_error_rate_is_a_share(tmp_path: Path, rate: float) -> None:
    with pytest.raises(ConfigError, match=r"max_error_rate must lie in \[0, 1\]"):
        job(tmp_path, max_error_rate=rate)


@pytest.mark.parametrize("force", [False, True])
def test_a_file_of_something_else_keeps_its_last_line(tmp_path: Path, force: bool) -> None:
    write_rows(tmp_path / "in.jsonl", 3)
    (tmp_path / "out.jsonl").write_text("my notes, without a newline")
    with pytest.raises(ConfigError, match="does not end in a row of this command"):
        run(tmp_path, resume=True, force=force)
    assert (tmp_path / "out.jsonl").read_text() == "my notes, without a newline"


def test_zeros_after_a_power_cut_are_cut_off(tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", 3)
    run(tmp_path)
    whole = (tmp_path / "out.jsonl").read_bytes()
    (tmp_path / "out.jsonl").write_bytes(whole[:-20].rpartition(b"\n")[0] + b"\n" + bytes(50))
    run(tmp_path, resume=True)
    assert (tmp_path / "out.jsonl").read_bytes() == whole


def test_the_output_must_be_a_plain_file(tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", 3)
    os.mkfifo(tmp_path / "out.jsonl")
    with pytest.raises(ConfigError, match="is no plain file"):
        run(tmp_path)


@dataclass(frozen=True)
class Priced(Reward):
    """Costs 1 a row; fails on every row of `down` and after."""

    name: str = "priced"
    down: int = 10**9

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return [
            Score.fail("down") if s.columns["n"] >= self.down else Score.of(1.0, info={"cost": 1.0})
            for s in samples
        ]


class TakesAll:
    """An engine that holds every batch before it scores the first."""

    takes_all = True

    def scores(self, reward, batches):
        yield from InProcess(read_ahead=False).scores(reward, iter(list(batches)))


def test_a_bound_on_spend_holds_where_the_engine_has_every_batch(tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", 20)
    report = run(tmp_path, Priced(), batch_size=2, max_cost=5.0, engine=TakesAll())
    assert (report.written, report.stopped, report.overspent) == (6, True, True)
    report = run(tmp_path, Priced(), batch_size=2, max_cost=20.0, resume=True, engine=TakesAll())
    assert (report.written, report.stopped, report.overspent) == (14, False, False)


def test_what_was_paid_for_is_kept_when_too_much_fails(tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", 20)
    with pytest.raises(RewardError, match="failed on 11 of the 20"):
        run(tmp_path, Priced(down=9), batch_size=20)
    rows = results(tmp_path / "out.jsonl")
    assert sum(row["status"] == "scored" for row in rows) == 9
