"""The bytes between a worker and the inside of its sandbox.

Requests go in as `marshal` data, which only we write. What comes out is a fixed record and three
byte strings, so that reading it involves no parser that could be fooled.

Used on both sides: standard library only, few imports.
"""

from __future__ import annotations

import marshal
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Kinds of record.
HELLO, TEST, DONE, FAILED = 1, 2, 3, 4
#: Why the inside ended a program.
NONE, WALL, CPU, MEMORY, OUTPUT, DISK = 0, 1, 2, 3, 4, 5

_NUMBERS = 7
RECORD = struct.Struct(f"<B{_NUMBERS}q3I")
_LENGTH = struct.Struct("<I")

Numbers = tuple[int, int, int, int, int, int, int]
NO_NUMBERS: Numbers = (0, 0, 0, 0, 0, 0, 0)


def write_all(fd: int, data: bytes) -> None:
    """Write everything, however often it takes."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def send_record(
    fd: int,
    kind: int,
    numbers: Numbers = NO_NUMBERS,
    first: bytes = b"",
    second: bytes = b"",
    third: bytes = b"",
) -> None:
    """One record outwards: seven numbers and three byte strings."""
    head = RECORD.pack(kind, *numbers, len(first), len(second), len(third))
    if len(first) < 65536:
        write_all(fd, head + first + second + third)
        return
    write_all(fd, head)
    for part in (first, second, third):
        write_all(fd, part)


def pack_request(request: dict[str, Any]) -> bytes:
    """A request as it goes inwards."""
    body = marshal.dumps(request)
    return _LENGTH.pack(len(body)) + body


def read_request(read: Callable[[int], bytes]) -> Any:
    """The next request, or None at the end of the stream.

    Args:
        read: Returns at most so many bytes; empty at the end.
    """
    head = _exactly(read, _LENGTH.size)
    if head is None:
        return None
    body = _exactly(read, _LENGTH.unpack(head)[0])
    return None if body is None else marshal.loads(body)


def _exactly(read: Callable[[int], bytes], size: int) -> bytes | None:
    data = read(size)
    if len(data) == size:
        return data
    parts = bytearray(data)
    while len(parts) < size:
        data = read(min(size - len(parts), 1 << 20))
        if not data:
            return None
        parts += data
    return bytes(parts)
