"""The program's side: what a forked child does between the fork and its end.

Everything here runs in the process that belongs to the program. It holds no expected output and
no verdict; the only secret it may hold is the token of an assert test, which is why those are
marked forgeable.

Runs inside the sandbox: standard library only, few imports.
"""

from __future__ import annotations

import atexit
import builtins
import gc
import marshal
import os
import resource
import signal
import sys

from assay.sandbox import inner_kernel as kernel
from assay.sandbox import inner_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, TracebackType
    from typing import Any

    from assay.sandbox.inner_stage import Folders, Mounts

VALUE_FD, CODE_FD = 3, 4
_UNLIMITED = resource.RLIM_INFINITY


def confine(
    task: dict[str, Any], fds: dict[int, int], groups: tuple[int, ...], stage: Mounts | Folders
) -> None:
    """Leave every privilege: cgroups, session, descriptors, limits, capabilities.

    Args:
        task: The submission, for its limits.
        fds: Descriptor wanted -> descriptor held, for 0, 1, 2 and the result channels.
        groups: Open `cgroup.procs` files to join.
        stage: The program's files, which may bind it to them.
    """
    for group in groups:
        os.write(group, b"0")
    os.setsid()
    stage.confine()
    for wanted, held in fds.items():
        os.dup2(held, wanted)
    last = max(fds)
    for fd in range(3, last):
        if fd not in fds:
            os.close(fd)
    os.closerange(last + 1, 1 << 20)
    resource.setrlimit(resource.RLIMIT_CPU, task["cpu_rlimit"])
    kernel.drop_capabilities()
    os.chdir(task["tmp"])


def bound(limits: dict[str, Any], address_space: bool, extra_processes: int) -> tuple[int, int]:
    """Set the resource limits of all that this process will fork.

    They are the same for every test and do not hurt the supervisor, so they are set once; only the
    limit of CPU seconds, which would, is returned for each program to set.
    """
    seconds = int(limits["cpu_s"]) + 2
    memory = int(limits["memory"])
    pairs = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, int(limits["file"])),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_NPROC, int(limits["processes"]) + extra_processes),
        (resource.RLIMIT_MEMLOCK, 65536),
        (resource.RLIMIT_MSGQUEUE, 0),
        (resource.RLIMIT_NICE, 0),
        (resource.RLIMIT_RTPRIO, 0),
    ]
    pairs.append((resource.RLIMIT_STACK, memory))
    if address_space:
        pairs.append((resource.RLIMIT_AS, memory + (768 << 20)))
    for kind, value in pairs:
        value = _at_most(value, resource.getrlimit(kind)[1])
        resource.setrlimit(kind, (value, value))
    seconds = _at_most(seconds, resource.getrlimit(resource.RLIMIT_CPU)[1])
    return seconds, seconds


def _at_most(value: int, hard: int) -> int:
    return value if hard == _UNLIMITED else min(value, hard)


def execute(task: dict[str, Any], test: dict[str, Any]) -> None:
    """Replace this process by the program's command."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    argv = list(task["argv"])
    try:
        os.execve(argv[0], argv, dict(task["environment"]))
    except OSError as error:
        os.write(2, f"cannot run {argv[0]}: {error}\n".encode())
        os._exit(127)


def interpret(task: dict[str, Any], test: dict[str, Any], code: bytes | None) -> None:
    """Run a Python program in this process; never returns."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        gc.enable()
        status = _program(task, test, code)
    finally:
        os._exit(status)


def _program(task: dict[str, Any], test: dict[str, Any], code: bytes | None) -> int:
    kind = test["kind"]
    name = "__main__" if kind == "stdio" else "program"
    module = type(sys)(name)
    scope: dict[str, Any] = module.__dict__
    scope["__file__"] = task["path"]
    scope["__builtins__"] = builtins
    sys.modules[name] = module
    sys.argv[:] = [task["path"], *task["arguments"]]
    status = 0
    try:
        compiled: CodeType
        if code is None:
            compiled = compile(task["source"], task["path"], "exec", 0, True)
            if task["share_code"]:
                _write_all(CODE_FD, marshal.dumps(compiled))
        else:
            compiled = marshal.loads(code)
        if task["share_code"] and code is None:
            os.close(CODE_FD)
        exec(compiled, scope)
        if kind == "function":
            _call(scope, test)
        elif kind == "probe":
            _probe(scope, test)
        elif kind == "assert":
            _assert(scope, test)
    except SystemExit as stop:
        status = _exit_status(stop)
    except BaseException:
        status = 1
        _report(*sys.exc_info())
    if kind != "stdio":
        _flush()
        return status
    return _finish(scope, status)


def _call(scope: dict[str, Any], test: dict[str, Any]) -> None:
    owner, dot, method = test["entry"].rpartition(".")
    if dot:
        function = getattr(scope[owner](), method) if owner in scope else None
    else:
        function = scope.get(method)
    if function is None:
        raise NameError(f"the program defines no {test['entry']!r}")
    arguments, keywords = marshal.loads(test["call"])
    _send(function(*arguments, **keywords), test["limit"])


def _probe(scope: dict[str, Any], test: dict[str, Any]) -> None:
    """Run statements and send the values of expressions."""
    if test["setup"]:
        exec(compile(test["setup"], "<setup>", "exec", 0, True), scope)
    values = []
    room = test["limit"]
    for kind, source in test["steps"]:
        if kind == "run":
            exec(compile(source, "<test>", "exec", 0, True), scope)
            continue
        value = eval(compile(source, "<test>", "eval", 0, True), scope)
        try:
            values.append(inner_value.dump(value, room))
        except (ValueError, RecursionError) as error:
            _write_all(VALUE_FD, b"E" + str(error).encode())
            return
        room -= len(values[-1])
    _write_all(VALUE_FD, b"P[" + b",".join(values) + b"]")


def _assert(scope: dict[str, Any], test: dict[str, Any]) -> None:
    token = test["token"]
    try:
        if test["setup"]:
            exec(compile(test["setup"], "<setup>", "exec", 0, True), scope)
        exec(compile(test["source"], "<test>", "exec", 0, True), scope)
    except AssertionError:
        _write_all(VALUE_FD, b"A")
        raise
    _write_all(VALUE_FD, b"T" + token)


def _send(value: Any, limit: int) -> None:
    try:
        data = inner_value.dump(value, limit)
    except (ValueError, RecursionError) as error:
        _write_all(VALUE_FD, b"E" + str(error).encode())
        return
    _write_all(VALUE_FD, b"V" + data)


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _exit_status(stop: SystemExit) -> int:
    code = stop.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    try:
        sys.stderr.write(f"{code}\n")
    except Exception:
        return 1
    return 1


def _report(
    kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
) -> None:
    """Print a traceback as the interpreter would, without the frames of this module."""
    hook: Any = sys.excepthook
    while trace is not None and trace.tb_frame.f_globals is globals():
        trace = trace.tb_next
    if error is not None:
        error.__traceback__ = trace
    try:
        hook(kind, error, trace)
    except BaseException as second:
        if isinstance(second, SystemExit):
            raise
        with_default: Any = sys.__excepthook__
        with_default(kind, error, trace)


def _flush() -> bool:
    good = True
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BaseException:
            good = False
    return good


def _finish(scope: dict[str, Any], status: int) -> int:
    """What the interpreter does at its end: threads, exit handlers, buffers, finalisers."""
    threading = sys.modules.get("threading")
    try:
        if threading is not None:
            threading._shutdown()
        atexit._run_exitfuncs()
    except BaseException:
        _report(*sys.exc_info())
    good = _flush()
    scope.clear()
    return status if (_flush() and good) or status else 120
