"""A proxy that gets 5 % of the requests wrong: slow, 500, reset, garbage. For the soak."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import threading
from collections import Counter

FAULTS = ("slow", "500", "reset", "garbage")


class FaultyProxy:
    """Passes HTTP requests on, one after the other on each connection.

    Args:
        port: Of the server behind it.
        share: Of requests that meet a fault.
        seed: Of the choice.
    """

    def __init__(self, port: int, share: float = 0.05, seed: int = 0) -> None:
        self.behind, self.share = port, share
        self.seen: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._connection, "127.0.0.1", 0)
        )
        self.port: int = self._server.sockets[0].getsockname()[1]
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner, outer = await asyncio.open_connection("127.0.0.1", self.behind)
            while True:
                request = await _message(reader)
                fault = "none"
                if self._random.random() < self.share:
                    fault = self._random.choice(FAULTS)
                self.seen[fault] += 1
                if fault == "500":
                    writer.write(b"HTTP/1.1 500 Oops\r\ncontent-length: 4\r\n\r\noops")
                    continue
                if fault == "reset":
                    linger = struct.pack("ii", 1, 0)  # close with RST
                    raw = writer.get_extra_info("socket")
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    writer.transport.abort()
                    break
                if fault == "slow":
                    await asyncio.sleep(0.5)
                outer.write(request)
                answer = await _message(inner)
                if fault == "garbage":
                    head, _, body = answer.partition(b"\r\n\r\n")
                    answer = head + b"\r\n\r\n" + b'{"scores": [{"val' + b"\xff" * (len(body) - 17)
                writer.write(answer)
                await writer.drain()
        except (OSError, EOFError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            if "outer" in locals():
                outer.close()


async def _message(reader: asyncio.StreamReader) -> bytes:
    """One HTTP message with a content-length."""
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return head + await reader.readexactly(int(value))
    return head
