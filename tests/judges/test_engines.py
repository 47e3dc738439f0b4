"""Jobs whose batches are scored elsewhere, and their export in the input's order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assay.cli import app
from assay.errors import ConfigError, DataError, RewardError
from assay.judges.exported_results import check_target, export
from assay.judges.process_engine import Processes, visible_gpus
from assay.judges.ray_engine import RayData
from assay.judges.rows import Row, RowSource
from tests.judges import toy_rewards
from tests.judges.test_offline import (
    Notes,
    Priced,
    in_order,
    job,
    results,
    run,
    write_groups,
    write_rows,
)


def test_two_processes_give_the_same_rows(tmp_path):
    write_rows(tmp_path / "in.jsonl", at7="unusable")
    run(tmp_path, output=tmp_path / "whole.jsonl")
    report = run(tmp_path, batch_size=3, engine=Processes(2))
    assert in_order(tmp_path / "out.jsonl") == in_order(tmp_path / "whole.jsonl")
    assert (report.written, report.bad) == (49, 1) and report.seconds["brief"] >= 0


def test_groups_stay_whole(tmp_path):
    write_groups(tmp_path / "in.jsonl")
    run(tmp_path, toy_rewards.rank, output=tmp_path / "whole.jsonl")
    run(tmp_path, toy_rewards.rank, batch_size=5, engine=Processes(2))
    assert in_order(tmp_path / "out.jsonl") == in_order(tmp_path / "whole.jsonl")


def test_a_worker_that_dies_is_replaced(tmp_path):
    write_rows(tmp_path / "in.jsonl", 20, at5="die")
    reward = toy_rewards.Deadly(str(tmp_path / "mark"))
    report = run(tmp_path, reward, batch_size=2, engine=Processes(2, gpus=("7", "8")))
    assert report.written == 20 and (tmp_path / "mark").exists()
    rows = results(tmp_path / "out.jsonl")
    assert {row["info"]["gpu"] for row in rows} == {"7", "8"}
    assert os.environ.get("CUDA_VISIBLE_DEVICES") not in ("7", "8")


def test_a_batch_that_kills_two_workers_ends_the_job(tmp_path):
    write_rows(tmp_path / "in.jsonl", 20, at5="die")
    with pytest.raises(RewardError, match=r"2 worker processes died.*exit code 9.*lines 5 to 6"):
        run(tmp_path, toy_rewards.Deadly(), batch_size=2, engine=Processes(1))
    assert len(results(tmp_path / "out.jsonl")) == 4  # what was done before is there


@pytest.mark.slow
def test_workers_end_with_a_job_that_is_killed(tmp_path):
    write_rows(tmp_path / "in.jsonl", 20)
    (tmp_path / "asleep.py").write_text(
        "import os, time\nfrom dataclasses import dataclass\nfrom assay.reward import Reward\n"
        "@dataclass(frozen=True)\nclass Asleep(Reward):\n    name: str = 'asleep'\n"
        "    def score(self, samples):\n"
        "        open(f'{os.environ[\"MARKS\"]}/worker-{os.getpid()}', 'w').close()\n"
        "        time.sleep(600)\nasleep = Asleep()\n"
    )
    words = [sys.executable, "-m", "assay", "score", "--reward", f"{tmp_path}/asleep.py:asleep"]
    words += ["--input", f"{tmp_path}/in.jsonl", "--output", f"{tmp_path}/out.jsonl", "--quiet"]
    job_itself = subprocess.Popen(
        [*words, "--workers", "2", "--batch-size", "2"],
        env={**os.environ, "MARKS": str(tmp_path)},
    )
    until(lambda: len(list(tmp_path.glob("worker-*"))) == 2)
    job_itself.kill()
    job_itself.wait()
    workers = [int(path.name.removeprefix("worker-")) for path in tmp_path.glob("worker-*")]
    until(lambda: not any(map(is_running, workers)))


def until(holds):
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_running(process):
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes() != b""  # a zombie has none
    except OSError:
        return False


def test_no_batch_begins_once_enough_is_spent(tmp_path):
    write_rows(tmp_path / "in.jsonl", 20)
    report = run(tmp_path, Priced(), batch_size=2, max_cost=3.0, engine=Processes(1))
    assert (report.written, report.overspent) == (4, True)


def test_errors_come_home(tmp_path):
    write_rows(tmp_path / "in.jsonl", 5, at3="crash")
    with pytest.raises(RewardError, match="KeyError"):
        run(tmp_path, engine=Processes(1))
    with pytest.raises(ConfigError, match="number of workers"):
        Processes(0)
    assert visible_gpus({"CUDA_VISIBLE_DEVICES": ""}) == ()
    with pytest.raises(ConfigError, match="actors"):
        RayData(0)


def test_export_restores_the_order(tmp_path):
    write_groups(tmp_path / "in.jsonl", groups=5)
    made = job(tmp_path, toy_rewards.rank, batch_size=3)
    made.run(Notes())
    rows = results(tmp_path / "out.jsonl")
    order = list(made.ids())
    assert [row["id"] for row in rows] != order
    for name in ("x.jsonl", "x.parquet", "folder"):
        assert export(tmp_path / "out.jsonl", order, tmp_path / name) == 20
        assert export(tmp_path / "out.jsonl", order, tmp_path / name) == 20  # replaces its own
    by_id = {row["id"]: row for row in rows}
    assert results(tmp_path / "x.jsonl") == [by_id[one] for one in order]
    import pyarrow.parquet as pq
    from datasets import load_from_disk

    table = pq.read_table(tmp_path / "x.parquet").to_pylist()
    assert [row["id"] for row in table] == order
    assert table[3]["value"] == by_id[order[3]]["value"]
    assert json.loads(table[3]["info"]) == by_id[order[3]]["info"]
    assert load_from_disk(str(tmp_path / "folder"))["id"][:] == order
    assert not [one for one in tmp_path.iterdir() if one.name.startswith(".")]


def test_export_leaves_rows_without_result_out(tmp_path):
    write_rows(tmp_path / "in.jsonl", 5, at3="unusable")
    made = job(tmp_path)
    made.run(Notes())
    assert export(tmp_path / "out.jsonl", made.ids(), tmp_path / "x.jsonl") == 4


def test_export_targets(tmp_path):
    (tmp_path / "mine").mkdir()
    for target, message in (
        (tmp_path / "x.csv", "must end in"),
        (tmp_path / "none" / "x.jsonl", "no folder"),
        (tmp_path / "mine", "no saved dataset"),
    ):
        with pytest.raises(ConfigError, match=message):
            check_target(target)


def test_saved_datasets_are_input(tmp_path):
    import datasets

    made = datasets.Dataset.from_list(
        [{"prompt": "p", "completion": "x" * i, "n": i} for i in range(6)]
    )
    made.save_to_disk(str(tmp_path / "in"))
    datasets.DatasetDict({"test": made}).save_to_disk(str(tmp_path / "dict"))
    report = run(tmp_path, input=tmp_path / "in")
    assert report.written == 6 and results(tmp_path / "out.jsonl")[2]["id"] == 3
    with pytest.raises(ConfigError, match=r"splits; name one of \['test'\]"):
        list(RowSource(tmp_path / "dict", "dict"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="no dataset saved"):
        list(RowSource(tmp_path / "empty", "empty"))
    assert all(isinstance(row, Row) for row in RowSource(tmp_path / "dict" / "test", "test"))


def test_command_line(tmp_path):
    write_rows(tmp_path / "in.jsonl", 9)
    words = ["score", "--reward", "tests.judges.toy_rewards:reward", "--quiet"]
    words += ["--input", str(tmp_path / "in.jsonl"), "--output", str(tmp_path / "out.jsonl")]
    done = CliRunner().invoke(
        app, [*words, "--workers", "2", "--batch-size", "2", "--export", str(tmp_path / "x.jsonl")]
    )
    assert done.exit_code == 0, done.output
    assert [row["id"] for row in results(tmp_path / "x.jsonl")] == list(range(1, 10))
    for wrong in (["--workers", "0"], ["--engine", "spark"], ["--export", str(tmp_path / "x.csv")]):
        assert CliRunner().invoke(app, [*words, *wrong]).exit_code == 2
    again = CliRunner().invoke(app, [*words, "--dry-run"])
    assert again.exit_code == 0 and "would be refused" in again.output


@pytest.mark.slow
def test_ray_with_a_node_killed_midway(tmp_path):
    pytest.importorskip("ray", reason="ray is not installed")
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    second = cluster.add_node(num_cpus=1)
    write_groups(tmp_path / "in.jsonl", groups=40, size=4)
    reward = toy_rewards.Deadly()

    class KillsANode(Notes):
        def advanced(self, rows: int, cost: float = 0.0) -> None:
            super().advanced(rows, cost)
            if self.rows == 8:
                cluster.remove_node(second, allow_graceful=False)

    try:
        ray.init(address=cluster.address, log_to_driver=False)
        notes = KillsANode()
        report = job(tmp_path, reward, batch_size=4, engine=RayData()).run(notes)
        assert report.written == 160
        ids = [row["id"] for row in results(tmp_path / "out.jsonl")]
        assert len(ids) == len(set(ids)) == 160
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_unreadable_results_are_refused(tmp_path):
    (tmp_path / "out.jsonl").write_text('{"no": "result"}\n')
    with pytest.raises(DataError, match="is not a result"):
        export(tmp_path / "out.jsonl", [], tmp_path / "x.jsonl")
