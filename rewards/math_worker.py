"""Compares two mathematical answers; runs inside the worker process of `MathAnswer` only.

math-verify has no time limits that work in threads, and its signals would reach the trainer. So it
runs here without any, under the wall limit of a `BoundedWorker`. The texts come from a model: the
parsers build SymPy objects and execute nothing, and before the first one the process gives up what
it does not need (`confine`), by the kernel's means where they are there. That is a second lock on
the door: what the process knew when it started, it still knows.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from functools import cache
from itertools import product
from typing import Any, TypedDict

from assay import errors
from assay.sandbox import inner_kernel
from assay.sandbox.inner_landlock import READ, Ruleset

try:
    import math_verify
except ModuleNotFoundError:
    raise ImportError(
        'math-verify is missing; install it with: pip install "assay[math]"'
    ) from None

MEMORY_BYTES = 2 << 30
_EXECUTE = 1  # Landlock's right to start a program
_NEWNET, _NEWUSER = 0x40000000, 0x10000000
_READABLE = ("/usr", "/lib", "/lib64", "/dev/null", "/dev/urandom")

#: Audit events that no comparison needs: other programs, the network, changes to files.
_REFUSED = (
    "ctypes.",
    "os.chmod",
    "os.exec",
    "os.fork",
    "os.kill",
    "os.link",
    "os.mkdir",
    "os.posix_spawn",
    "os.putenv",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.spawn",
    "os.symlink",
    "os.system",
    "os.truncate",
    "pty.spawn",
    "shutil.",
    "socket.",
    "subprocess.",
)


class Comparison(TypedDict):
    """What came of a comparison."""

    gold_parses: bool
    found: str | None
    equal: bool
    note: str


def serve(gold: str, answer: str) -> Comparison:
    """`compare` in a process that is confined first, for good. Not for your own process."""
    confine()
    return compare(gold, answer)


def compare(gold: str, answer: str) -> Comparison:
    r"""Whether the last expression in `answer` equals the one in `gold`.

    Raises:
        MemoryError: The comparison needs more memory than the process may have.

    >>> compare(r"\boxed{\frac{1}{2}}", r"\boxed{0.5}")["equal"]
    True
    """
    golds = _parse(gold)
    if all(isinstance(value, str) for value in golds):
        return Comparison(gold_parses=False, found=None, equal=False, note="")
    found = _parse(answer)
    if not found:
        return Comparison(gold_parses=True, found=None, equal=False, note="no answer found")
    text = next((value for value in found if isinstance(value, str)), "")[:200]
    note = "the answer does not parse" if all(isinstance(v, str) for v in found) else ""
    for left, right in product(golds, found):
        try:
            if math_verify.verify([left], [right], timeout_seconds=None, raise_on_error=True):
                return Comparison(gold_parses=True, found=text, equal=True, note="")
        except (MemoryError, RecursionError):
            raise
        except Exception as error:  # two kinds of object that SymPy cannot compare are not equal
            note = note or f"not comparable: {type(error).__name__}"
    return Comparison(gold_parses=True, found=text, equal=False, note=note)


@cache
def confine() -> None:
    """Limit memory, forbid writing files, starting programs and using the network.

    An audit hook refuses it in Python; where the kernel has network namespaces and Landlock, they
    refuse it to any code, and let it read nothing but Python and its packages.
    """
    os.environ.clear()
    for what, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    _confine_by_kernel()
    sys.addaudithook(_refuse)


def _confine_by_kernel() -> None:
    for flags in (_NEWNET, _NEWNET | _NEWUSER):
        with contextlib.suppress(OSError):
            inner_kernel.unshare(flags)
            break
    with contextlib.suppress(OSError):
        rules = Ruleset()
        library = os.path.dirname(os.path.abspath(errors.__file__))
        places = (*_READABLE, library, sys.prefix, sys.base_prefix, *sys.path)
        for path in filter(None, places):
            rules.allow(path, READ & ~_EXECUTE)
        inner_kernel.no_new_privileges()
        rules.restrict()
        rules.close()
    with contextlib.suppress(OSError):
        inner_kernel.drop_capabilities()


def _parse(text: str) -> list[Any]:
    return list(math_verify.parse(text, parsing_timeout=None))


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith(_REFUSED) or (event == "open" and _writes(*arguments[1:3])):
        raise PermissionError(f"a comparison of answers may not do this: {event}")


def _writes(mode: str | None, flags: int) -> bool:
    if mode is not None:
        return bool(set(mode) & set("wax+"))
    return bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
