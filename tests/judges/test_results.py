from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.judges.results import ResultFile, finished_rows


def row(i: int, **rest: Any) -> dict[str, Any]:
    return {"id": i, "status": "scored", **rest}


def test_rows_are_appended_in_order(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with ResultFile(path, resume=False) as results:
        results.append([row(1), row(2)])
        results.append([])
        results.append([row(3)])
        assert results.size == path.stat().st_size
    assert [r["id"] for r in finished_rows(path)] == [1, 2, 3]


def test_an_output_with_results_is_refused_without_resume(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text('{"id": 1, "status": "scored"}\n')
    with pytest.raises(ConfigError, match="already holds results; continue it with --resume"):
        ResultFile(path, resume=False)
    assert path.read_text() == '{"id": 1, "status": "scored"}\n'


def test_an_empty_output_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.touch()
    ResultFile(path, resume=False).close()


@pytest.mark.parametrize("size", [1, 10, 70_000, 200_000])
def test_a_torn_last_line_is_cut_off_however_long(tmp_path: Path, size: int) -> None:
    path = tmp_path / "out.jsonl"
    whole = b'{"id": 1, "status": "scored"}\n'
    path.write_bytes(whole + b'{"id": 2, "n' + b"x" * size)
    assert [r["id"] for r in finished_rows(path)] == [1]
    with ResultFile(path, resume=True) as results:
        assert results.size == len(whole)
        results.append([row(2)])
    assert [r["id"] for r in finished_rows(path)] == [1, 2]


def test_a_file_that_is_one_torn_line_becomes_empty(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(b"\0" * 100_000)
    with ResultFile(path, resume=True) as results:
        assert results.size == path.stat().st_size == 0


@pytest.mark.parametrize("line", ["nonsense\n", "[1]\n", '{"id": 1}\n', '{"status": "scored"}\n'])
def test_a_file_of_something_else_is_not_touched(tmp_path: Path, line: str) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text('{"id": 0, "status": "scored"}\n' + line)
    before = path.read_bytes()
    with pytest.raises(DataError, match=r"notes\.jsonl:2 is not a result of `assay score`"):
        list(finished_rows(path))
    assert path.read_bytes() == before


def test_two_processes_cannot_write_one_output(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    script = (
        "import sys; from pathlib import Path; from assay.judges.results import ResultFile\n"
        "ResultFile(Path(sys.argv[1]), resume=True)"
    )
    command = [sys.executable, "-c", script, str(path)]
    with ResultFile(path, resume=False) as results:
        results.append([row(1)])
        first = subprocess.run(command, capture_output=True, text=True)
        assert "another process is writing" in first.stderr
        results.drop(lambda r: r["id"] == 1)  # the lock moves on to the rewritten file
        second = subprocess.run(command, capture_output=True, text=True)
        assert "another process is writing" in second.stderr
    assert subprocess.run(command, capture_output=True).returncode == 0


def test_dropping_rewrites_in_one_step_and_appending_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with ResultFile(path, resume=False) as results:
        results.append([row(i) for i in range(6)])
        assert results.drop(lambda r: r["id"] % 2 == 1) == 3
        assert results.drop(lambda r: r["id"] == 99) == 0
        results.append([row(7)])
        assert results.size == path.stat().st_size
    assert [r["id"] for r in finished_rows(path)] == [0, 2, 4, 7]
    assert list(tmp_path.iterdir()) == [path]


def test_a_linked_output_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "out.jsonl"
    path.symlink_to(tmp_path / "elsewhere" / "real.jsonl")
    with ResultFile(path, resume=False) as results:
        results.append([row(1), row(2)])
        assert results.drop(lambda r: r["id"] == 1) == 1
        results.append([row(3)])
    assert path.is_symlink()
    assert [r["id"] for r in finished_rows(tmp_path / "elsewhere" / "real.jsonl")] == [2, 3]


def test_a_full_disk_leaves_whole_batches_only(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with ResultFile(path, resume=False) as results:
        results.append([row(1)])
        before = path.read_bytes()
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        import signal

        old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, hard))
        try:
            with pytest.raises(OSError, match="File too large"):
                results.append([row(i, note="x" * 40) for i in range(2, 9)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, old)
        assert path.read_bytes() == before
        results.append([row(2)])
    assert [r["id"] for r in finished_rows(path)] == [1, 2]


def test_outputs_that_cannot_be_appended_to(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="plain JSON lines"):
        ResultFile(tmp_path / "out.jsonl.gz", resume=False)
    with pytest.raises(ConfigError, match="cannot write .*: Is a directory"):
        ResultFile(tmp_path, resume=False)


def test_lines_are_strict_json(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with ResultFile(path, resume=False) as results:
        results.append([row(1, info={"v": float("nan"), "s": {2, 1}})])
    assert json.loads(path.read_text())["info"] == {"v": "NaN", "s": [1, 2]}
    assert os.access(path, os.W_OK)
