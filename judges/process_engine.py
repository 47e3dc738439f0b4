"""Scores batches in several processes of one machine, one per GPU if need be.

Each worker holds the reward (models, sandboxes and connections open there, once), gets batches
through a pipe and sends scores back. A worker that dies is replaced and its batch tried once more;
a batch that kills two workers ends the job. Workers end with the job, however it ends.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, ClassVar

from assay.errors import AssayError, ConfigError, RewardError
from assay.judges.engines import Scored
from assay.judges.rows import Row
from assay.judges.scoring import BatchScores, score_batch
from assay.reward import Reward

_GPU_VARIABLE = "CUDA_VISIBLE_DEVICES"
_TRIES = 2
_END_S = 5.0


@dataclass(frozen=True)
class Processes:
    """An `Engine` of worker processes.

    Args:
        count: How many.
        gpus: Devices, dealt out in turn as each worker's CUDA_VISIBLE_DEVICES; empty: all workers
            see what this process sees.
    """

    takes_all: ClassVar[bool] = False

    count: int
    gpus: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ConfigError(f"the number of workers must be >= 1, got {self.count}")

    @classmethod
    def per_gpu(cls) -> Processes:
        """One worker for each GPU that this process may use.

        Raises:
            ConfigError: There is none.
        """
        gpus = visible_gpus()
        if not gpus:
            raise ConfigError(
                "one worker per GPU was asked for and no GPU is visible here; give a number"
            )
        return cls(len(gpus), gpus)

    def scores(self, reward: Reward, batches: Iterator[list[Row]]) -> Scored:
        """See `Engine`.

        Raises:
            ConfigError: The reward cannot be pickled.
            RewardError: Two workers died on one batch.
        """
        try:
            packed = pickle.dumps(reward)
        except Exception as error:
            raise ConfigError(
                f"the reward {reward.name!r} cannot be sent to worker processes: {error}; rewards "
                "are classes at module level that hold picklable settings"
            ) from error
        workers: list[_Worker] = []

        def staffed() -> Iterator[tuple[_Worker, list[Row]]]:
            """A worker for each of the first batches: no more than there is work for."""
            for number, batch in zip(range(self.count), batches, strict=False):
                workers.append(_Worker(packed, self._gpu(number)))
                yield workers[-1], batch

        try:
            yield from _deal(staffed(), batches)
        finally:
            try:
                for worker in workers:
                    worker.end()
            except BaseException:  # told to stop a second time
                for worker in workers:
                    worker.process.kill()
                raise

    def _gpu(self, number: int) -> str | None:
        return self.gpus[number % len(self.gpus)] if self.gpus else None


def visible_gpus(environment: dict[str, str] | None = None) -> tuple[str, ...]:
    """The devices that CUDA_VISIBLE_DEVICES names, else those that torch counts.

    >>> visible_gpus({"CUDA_VISIBLE_DEVICES": "2,GPU-5e"})
    ('2', 'GPU-5e')
    """
    named = (os.environ if environment is None else environment).get(_GPU_VARIABLE)
    if named is not None:
        return tuple(name.strip() for name in named.split(",") if name.strip())
    try:
        import torch
    except ImportError:
        return ()
    return tuple(str(number) for number in range(torch.cuda.device_count()))


class _Worker:
    """One process and what it is scoring."""

    def __init__(self, reward: bytes, gpu: str | None) -> None:
        self.reward, self.gpu = reward, gpu
        self.batch: list[Row] | None = None
        self.tries = 0
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=_serve, args=(theirs, self.reward), name="assay-scorer", daemon=False
        )
        before = os.environ.get(_GPU_VARIABLE)
        try:
            if self.gpu is not None:
                os.environ[_GPU_VARIABLE] = self.gpu  # a spawned process starts with it
            self.process.start()
        finally:
            if self.gpu is not None:
                os.environ.pop(_GPU_VARIABLE)
                if before is not None:
                    os.environ[_GPU_VARIABLE] = before
        theirs.close()

    def give(self, batch: list[Row], tries: int = 1) -> None:
        self.batch, self.tries = batch, tries
        with contextlib.suppress(OSError):  # it has died; reading says so
            self.pipe.send_bytes(pickle.dumps(batch))

    def take(self) -> tuple[list[Row], BatchScores] | None:
        """The batch's scores; None where the worker died and a fresh one has the batch again."""
        batch = self.batch
        assert batch is not None
        try:
            answer = pickle.loads(self.pipe.recv_bytes())
        except (EOFError, OSError):
            self._again(batch)
            return None
        self.batch = None
        if isinstance(answer, BaseException):
            raise answer
        return batch, answer

    def _again(self, batch: list[Row]) -> None:
        self.process.join()
        code = self.process.exitcode
        if self.tries >= _TRIES:
            lines = sorted(row.line for row in batch)
            raise RewardError(
                f"{_TRIES} worker processes died, the last with exit code {code}, on the rows of "
                f"lines {lines[0]} to {lines[-1]}; was memory short? Use fewer workers or a "
                "smaller --batch-size"
            )
        self.pipe.close()
        self.start()
        self.give(batch, self.tries + 1)

    def end(self) -> None:
        self.pipe.close()
        self.process.join(_END_S if self.batch is None else 0.1)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(_END_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def _deal(staffed: Iterator[tuple[_Worker, list[Row]]], batches: Iterator[list[Row]]) -> Scored:
    busy: dict[Any, _Worker] = {}
    for worker, first in staffed:
        worker.give(first)
        busy[worker.pipe] = worker
    while busy:
        for pipe in wait(list(busy)):
            worker = busy.pop(pipe)
            done = worker.take()
            if done is not None:
                yield done  # first: what it cost may be the last that the job may spend
                batch = next(batches, None)
                if batch is not None:
                    worker.give(batch)
            if worker.batch is not None:
                busy[worker.pipe] = worker


def _serve(pipe: Connection, packed: bytes) -> None:
    """What a worker does: batches in, scores out, until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, name="assay-parent", daemon=True).start()
    try:
        reward = pickle.loads(packed)
    except Exception as error:
        reward = ConfigError(f"the reward cannot be opened in a worker process: {error}")
    while True:
        try:
            batch = pickle.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            return
        answer: object
        try:
            if isinstance(reward, BaseException):
                raise reward
            answer = score_batch(reward, batch)
        except (AssayError, ImportError) as error:
            answer = error
        try:
            data = pickle.dumps(answer)
            pickle.loads(data)
        except Exception:
            data = pickle.dumps(RewardError(f"{type(answer).__name__}: {answer}"))
        try:
            pipe.send_bytes(data)
        except OSError:  # the job has gone
            return


def _end_with_parent() -> None:
    """A job that is killed cannot end its workers, and a batch may take long."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
