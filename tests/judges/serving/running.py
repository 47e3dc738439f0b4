"""A server in a thread, on a free port, reached by real sockets."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from assay.judges.serving.app import create_app
from assay.judges.serving.config import ServeConfig

TOYS = "tests.judges.serving.toys"


@contextmanager
def running(tables: dict[str, Any], **options: Any) -> Iterator[str]:
    """The address of a server with the tables of a TOML file; options are uvicorn's."""
    app = create_app(ServeConfig.of(tables))
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="on", **options))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    end = time.monotonic() + 30
    while not (server.started and app.state.context.ready):
        assert time.monotonic() < end and thread.is_alive(), "the server did not start"
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


def served(**objects: str) -> dict[str, Any]:
    """A table of rewards or judges by name."""
    return {name: {"object": f"{TOYS}:{spec}"} for name, spec in objects.items()}
