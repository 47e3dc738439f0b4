"""Runs the app with uvicorn, and ends it in good order."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from types import FrameType
from typing import Any

from assay.errors import ConfigError
from assay.judges.serving.config import ServeConfig


def serve(config: ServeConfig) -> int:
    """Serve until SIGTERM or SIGINT; the exit code.

    The first signal makes `/ready` say no, closes the listening socket after `drain_delay_s`, and
    waits for requests under way at most `drain_timeout_s`; a second one ends it at once.

    Raises:
        ConfigError: The configuration cannot be served, or the address is taken.
        ImportError: The extra `serve` is missing.
    """
    try:
        import uvicorn

        from assay.judges.serving.app import create_app
        from assay.judges.serving.connections import bounded_protocol
    except ImportError as error:
        raise ImportError(f"serving needs {error.name}: pip install 'assay[serve]'") from error

    class Draining(uvicorn.Server):
        """A server that says that it is going before it goes."""

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            """The first signal drains, the second ends."""
            if context.draining:
                self.force_exit = self.should_exit = True
                return
            context.draining = True
            log.info("%s: finishing the requests under way", signal.Signals(sig).name)
            loop = asyncio.get_running_loop()
            if config.server.drain_delay_s and sig == signal.SIGTERM:
                loop.call_later(config.server.drain_delay_s, self._stop)
            else:
                self._stop()

        def _stop(self) -> None:
            self.should_exit = True

    log = _logging()
    listener = _bound(config)  # before models are loaded, which may take minutes
    app = create_app(config)
    context = app.state.context
    _listen(listener, config)
    host, port = listener.getsockname()[:2]
    server = Draining(
        uvicorn.Config(
            app,
            http=bounded_protocol(),
            ws="none",
            log_level="warning",
            access_log=False,
            timeout_graceful_shutdown=max(1, round(config.server.drain_timeout_s)),
            server_header=False,
            lifespan="on",
        )
    )
    shown = f"[{host}]" if ":" in str(host) else host
    access = "bearer token" if context.tokens else "no token"
    log.info("serving on http://%s:%s (%s); stop with Ctrl-C", shown, port, access)
    for service in context.services():
        log.info("  %s", service.name)
    asyncio.run(_run(server, listener))
    return 0


async def _run(server: Any, listener: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    for sig in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sig, server.handle_exit, sig, None)
    await server._serve([listener])  # `serve` would put its own handlers over ours


def _bound(config: ServeConfig) -> socket.socket:
    """A socket with the address, on which nobody is listened to yet."""
    host, port = config.server.host, config.server.port
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise _taken(config, error) from error
    return listener


def _listen(listener: socket.socket, config: ServeConfig) -> None:
    try:
        listener.listen(2048)
    except OSError as error:  # another one that was bound at the same time was sooner
        raise _taken(config, error) from error


def _taken(config: ServeConfig, error: OSError) -> ConfigError:
    return ConfigError(
        f"cannot listen on {config.server.host}:{config.server.port}: {error.strerror or error}; "
        "choose another [server] port, or 0 for a free one"
    )


def _logging() -> logging.Logger:
    log = logging.getLogger("assay.serve")
    if not log.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("assay: %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        log.propagate = False
    return log
