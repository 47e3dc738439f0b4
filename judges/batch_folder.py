"""A folder of requests for a batch service, and of its results: nothing is asked over the network.

While a `BatchFolder` is in use, every `Endpoint` (and a remote reward model on vLLM's `/score`)
looks its request up among the results; what is not there yet is written to `requests.jsonl`, once,
and fails for the time being. The file is what `vllm run-batch -i` or a provider's batch upload
takes: one line a request, with `custom_id`, `method`, `url` and `body`. Results come back as any
files `results*.jsonl` in the folder, in any order, in parts, or twice.

Source: OpenAI API reference, "Batch", and vLLM's "Offline inference with the OpenAI batch file
format".
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from assay.errors import ConfigError, DataError
from assay.fingerprint import fingerprint_of

REQUESTS = "requests.jsonl"
RESULTS = "results*.jsonl"


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What came back for one request: an HTTP status and the body's bytes."""

    status: int
    body: bytes


class BatchFolder:
    """The open folder; safe in many threads of one process.

    Args:
        path: Made if need be.

    Attributes:
        unanswered: How often something was asked that has no result yet.
        waiting: Different requests without a result; `requests.jsonl` holds these after `close`.

    Raises:
        ConfigError: It cannot be made or written.
        DataError: A line of a results file is no result; says which.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unanswered = 0
        self._lock = threading.Lock()
        self._wanted: set[str] = set()
        self._fresh = path / f".{REQUESTS}.{os.getpid()}.tmp"
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._places = self._index()
            self._file: IO[bytes] = self._fresh.open("wb")
        except OSError as error:
            raise ConfigError(f"cannot use the batch folder {path}: {error}") from None

    @property
    def waiting(self) -> int:
        """Different requests without a result."""
        return len(self._wanted)

    def ask(self, url: str, body: Mapping[str, Any]) -> BatchResult | None:
        """The result of a request, or None, and it is written down.

        A result that says the request failed (another status than 200) is asked for again as well,
        so that the next upload mends it.

        Args:
            url: Path of the entry point, such as `/v1/chat/completions`.
            body: JSON.
        """
        key = fingerprint_of((url, _plain(body)))[:32]
        with self._lock:
            found = self._read(key)
            if found is None or found.status != 200:
                self.unanswered += found is None
                if key not in self._wanted:
                    self._wanted.add(key)
                    line = {"custom_id": key, "method": "POST", "url": url, "body": dict(body)}
                    text = json.dumps(line, ensure_ascii=False)
                    self._file.write(text.encode("utf-8", "replace") + b"\n")
            return found

    def close(self, *, complete: bool) -> None:
        """Put `requests.jsonl` in place, in one step.

        Args:
            complete: Every request of the job was asked for; else the file that an earlier run left
                stays, since this one saw only some.
        """
        with self._lock:
            if self._file.closed:
                return
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            if complete:
                os.replace(self._fresh, self.path / REQUESTS)
            else:
                self._fresh.unlink()

    def _index(self) -> dict[str, tuple[Path, int]]:
        """Where each id's result lies; a good one is not hidden by a failed one."""
        places: dict[str, tuple[Path, int]] = {}
        good: set[str] = set()
        for file in sorted(self.path.glob(RESULTS)):
            for key, place, result in _results(file):
                if result.status == 200 or key not in good:
                    places[key] = (file, place)
                if result.status == 200:
                    good.add(key)
        return places

    def _read(self, key: str) -> BatchResult | None:
        if key not in self._places:
            return None
        path, place = self._places[key]
        with path.open("rb") as file:
            file.seek(place)
            return _result(json.loads(file.readline()))


def current_folder() -> BatchFolder | None:
    """The folder that clients of this process use instead of the network, if any."""
    return _CURRENT


@contextmanager
def used_folder(folder: BatchFolder) -> Iterator[None]:
    """Make every client of this process use `folder`."""
    global _CURRENT
    before, _CURRENT = _CURRENT, folder
    try:
        yield
    finally:
        _CURRENT = before


_CURRENT: BatchFolder | None = None


def _results(path: Path) -> Iterator[tuple[str, int, BatchResult]]:
    """Ids of a results file, where their lines begin, and what they say."""
    place = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            start, place = place, place + len(line)
            if not line.strip():
                continue
            try:
                data = json.loads(line)
                yield str(data["custom_id"]), start, _result(data)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise DataError(
                    f"{path}:{number} is no result of a batch ({type(error).__name__}: {error}); "
                    "take the file that the service wrote, whole"
                ) from None


def _result(data: Any) -> BatchResult:
    response = data.get("response")
    if isinstance(response, Mapping) and "body" in response:
        body = json.dumps(response["body"]).encode()
        return BatchResult(int(response.get("status_code", 200)), body)
    return BatchResult(500, json.dumps({"error": data.get("error") or "no response"}).encode())


def _plain(body: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(body))
