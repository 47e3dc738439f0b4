"""Bounds on the head of a request, which uvicorn reads without any.

A client that never ends its head would hold a connection for ever, or fill the memory with headers:
both before the server could ask for a token.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

#: From the connection's begin, or the first byte of a later request, to the end of its head.
HEAD_S = 30.0
#: Request line and headers; what one read brings may exceed it once.
HEAD_BYTES = 65_536


def bounded_protocol(
    head_s: float = HEAD_S, head_bytes: int = HEAD_BYTES
) -> type[HttpToolsProtocol]:
    """A protocol of uvicorn with these bounds; what exceeds them is hung up on.

    Raises:
        ImportError: The extra `serve` is missing.
    """
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class Bounded(HttpToolsProtocol):
        """A connection whose heads end in time."""

        _head_open = True  # a head has begun, or is awaited on a new connection
        _head_bytes = 0
        _head_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._head_timer = self.loop.call_later(head_s, self._hang_up)

        def connection_lost(self, exc: Exception | None) -> None:
            self._close_head()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            open_before = self._head_open
            super().data_received(data)
            if not self._head_open:
                return
            if open_before:
                self._head_bytes += len(data)
            if self._head_bytes > head_bytes:
                self._hang_up()
            elif self._head_timer is None:
                self._head_timer = self.loop.call_later(head_s, self._hang_up)

        def on_message_begin(self) -> None:
            self._head_open = True
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._close_head()
            super().on_headers_complete()

        def _close_head(self) -> None:
            self._head_open, self._head_bytes = False, 0
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None

        def _hang_up(self) -> None:
            if not self.transport.is_closing():
                self.transport.abort()

    return Bounded
