from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay import __version__
from tests.judges import toy_rewards

TOYS = f"{toy_rewards.__file__}:reward"
ROWS = [{"prompt": "p", "completion": "x" * (i % 12), "n": i} for i in range(30)]


def assay(
    *arguments: str | Path, stdin: bytes = b"", **environment: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "assay", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        env=os.environ | {"COLUMNS": "100"} | environment,
        timeout=60,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def score(tmp_path: Path, *extra: str | Path, **kwargs: object) -> subprocess.CompletedProcess[str]:
    return assay(
        "score",
        "--reward",
        TOYS,
        "--output",
        tmp_path / "out.jsonl",
        *extra,
        **kwargs,  # type: ignore[arg-type]
    )


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_version_and_help() -> None:
    assert assay("--version").stdout == f"assay {__version__}\n"
    assert "score" in assay("--help").stdout
    text = assay("score", "--help").stdout
    assert "--resume" in text and "--shard" in text


def test_the_installed_command_is_the_same() -> None:
    command = Path(sys.executable).with_name("assay")
    if not command.exists():
        pytest.skip("the package's scripts are not installed beside this Python")
    assert subprocess.check_output([command, "--version"], text=True) == f"assay {__version__}\n"


def test_score_writes_results_table_and_machine_summary(tmp_path: Path, rows: Path) -> None:
    done = score(tmp_path, "--input", rows, "--json", tmp_path / "summary.json")
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 30
    assert "full marks" in done.stdout and "number" in done.stdout
    assert "30 rows scored in" in done.stderr
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["written"] == 30
    assert summary["summary"]["leaves"]["brief"]["rows"]["scored"] == 30
    assert summary["seconds"]["brief"] > 0


def test_quiet_says_nothing_when_all_is_well(tmp_path: Path, rows: Path) -> None:
    done = score(tmp_path, "--input", rows, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("compressed", [False, True])
def test_stdin_is_an_input(tmp_path: Path, rows: Path, compressed: bool) -> None:
    data = rows.read_bytes() + b"nonsense\n"
    done = score(tmp_path, "--input", "-", stdin=gzip.compress(data) if compressed else data)
    assert done.returncode == 0, done.stderr
    assert "stdin:31: not JSON" in done.stderr
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 30


def test_bad_rows_are_told_but_not_endlessly(tmp_path: Path, rows: Path) -> None:
    rows.write_text(rows.read_text() + "nonsense\n" * 50)
    done = score(tmp_path, "--input", rows)
    assert done.returncode == 0
    assert done.stderr.count("not JSON") == 20
    assert "and 30 more bad rows" in done.stderr and "50 bad rows left out" in done.stderr


def test_strict_fails_with_one_sentence(tmp_path: Path, rows: Path) -> None:
    rows.write_text("nonsense\n" + rows.read_text())
    done = score(tmp_path, "--input", rows, "--strict")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and ":1: not JSON" in done.stderr


def test_an_existing_output_is_refused_and_resumed(tmp_path: Path, rows: Path) -> None:
    assert score(tmp_path, "--input", rows, "--limit", "10").returncode == 0
    refused = score(tmp_path, "--input", rows)
    assert refused.returncode == 1
    assert refused.stderr.startswith("assay: ") and "--resume" in refused.stderr
    assert "Traceback" not in refused.stderr
    resumed = score(tmp_path, "--input", rows, "--resume")
    assert resumed.returncode == 0
    assert "20 rows scored" in resumed.stderr and "10 were there before" in resumed.stderr


def test_a_changed_reward_file_is_noticed(tmp_path: Path, rows: Path) -> None:
    file = tmp_path / "changing_reward.py"
    text = "from tests.judges.toy_rewards import Brief\nreward = Brief()\n"
    file.write_text(text)
    options = ("score", "--reward", f"{file}:reward", "--input", rows)
    out = ("--output", tmp_path / "out.jsonl")
    root = str(Path(__file__).parents[2])
    assert assay(*options, *out, "--limit", "3", PYTHONPATH=root).returncode == 0
    file.write_text(text + "# better now\n")
    done = assay(*options, *out, "--resume", PYTHONPATH=root)
    assert done.returncode == 1 and "the reward's source file changed" in done.stderr


def test_dry_run_writes_nothing(tmp_path: Path, rows: Path) -> None:
    done = score(tmp_path, "--input", rows, "--dry-run", "--json", tmp_path / "plan.json")
    assert done.returncode == 0
    assert "30 rows" in done.stdout and "30 divisions" in done.stdout
    assert "Nothing was scored or written" in done.stdout
    assert not (tmp_path / "out.jsonl").exists()
    assert json.loads((tmp_path / "plan.json").read_text())["remaining"] == 30


def test_a_missing_column_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"completion": "c", "m": 1}\n' * 3)
    done = score(tmp_path, "--input", path)
    assert done.returncode == 1
    assert "needs columns ['n']" in done.stderr and "--map n=NAME" in done.stderr
    renamed = score(tmp_path, "--input", path, "--map", "n=m", "--resume")
    assert renamed.returncode == 0, renamed.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--input", "absent.jsonl"], "there is no file absent.jsonl"),
        (["--input", "-", "--shard", "4/4"], "--shard must be i/n"),
        (["--input", "-", "--map", "completion"], "--map must be NEW=OLD"),
        (["--input", "-", "--limit", "0"], "--limit"),
        (["--input", "-", "--batch-size", "many"], "--batch-size"),
        (["--input", "-", "--max-error-rate", "2"], "--max-error-rate"),
        (["--input", "-", "--reward", "no_colon"], "--reward must be FILE.py:attr"),
        (["--input", "-", "--output", "no/such/folder/out.jsonl"], "there is no folder"),
        (["--input", "-", "--json", "no/such/folder/s.json"], "--json: there is no folder"),
        (["--input", "-", "--output", "-"], "--output must name a file"),
        (["--input", "/dev/null"], "pipe it into --input -"),
        (["--input", "-", "--nonsense"], "--nonsense"),
        ([], "--input"),
    ],
)
def test_wrong_usage_exits_2(tmp_path: Path, options: list[str], message: str) -> None:
    done = score(tmp_path, *options)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reward_that_cannot_be_loaded_exits_1(tmp_path: Path, rows: Path) -> None:
    done = score(tmp_path, "--input", rows, "--reward", "json:loads")
    assert done.returncode == 1
    assert done.stderr == (
        "assay: json:loads must be a Reward, got function; subclass assay.rewards.Reward and name "
        "an instance\n"
    )


def test_a_script_that_exits_when_imported_is_no_success(tmp_path: Path, rows: Path) -> None:
    (tmp_path / "script_that_exits.py").write_text("import sys\nsys.exit(0)\n")
    done = score(tmp_path, "--input", rows, "--reward", tmp_path / "script_that_exits.py:reward")
    assert done.returncode == 1
    assert "script_that_exits.py (line 2): SystemExit: 0" in done.stderr


@pytest.mark.parametrize("name", ["in.jsonl", "out.jsonl"])
def test_the_summary_does_not_overwrite_rows_or_results(
    tmp_path: Path, rows: Path, name: str
) -> None:
    before = rows.read_bytes()
    done = score(tmp_path, "--input", rows, "--json", tmp_path / name)
    assert done.returncode == 2
    assert "is the input or the output" in done.stderr
    assert rows.read_bytes() == before


def test_failures_at_the_end_exit_1_after_the_table(tmp_path: Path, rows: Path) -> None:
    done = score(tmp_path, "--input", rows, "--limit", "3", ASSAY_TEST_DOWN="1")
    assert done.returncode == 1
    assert "3 rows scored" in done.stderr and "number" in done.stdout
    assert "'reward/number' failed on 3 of the 3 rows" in done.stderr
    assert "--retry-failed" in done.stderr


def test_a_terminal_that_cannot_show_the_table_fails_no_job(tmp_path: Path, rows: Path) -> None:
    done = score(tmp_path, "--input", rows, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "mean" in done.stdout


def test_a_closed_stdin_is_told(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "assay", "score", "--reward", TOYS, "--input", "-"]
    done = subprocess.run(
        ["bash", "-c", '"$@" <&-', "bash", *command, "--output", str(tmp_path / "out.jsonl")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr == "assay: --input - reads stdin, which is closed; name a file\n"


def test_debug_shows_the_traceback(tmp_path: Path, rows: Path) -> None:
    done = score(tmp_path, "--input", rows, "--reward", "json:loads", ASSAY_DEBUG="1")
    assert done.returncode == 1
    assert "Traceback" in done.stderr and "ConfigError" in done.stderr


def test_a_reader_that_leaves_is_no_error_message(tmp_path: Path, rows: Path) -> None:
    command = (
        f"{sys.executable} -m assay score --reward {TOYS} --input {rows} "
        f"--output {tmp_path}/out.jsonl | true"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr and "Broken pipe" not in done.stderr


def test_importing_the_command_line_is_light() -> None:
    script = (
        "import sys, assay.cli; "
        "print([m for m in ('numpy', 'torch', 'assay.rewards') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"
