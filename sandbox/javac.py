"""A warm javac: the compiler stays loaded between compilations, in a sandbox of its own.

A cold javac spends ten times longer on starting than on a typical program. The server runs as a
program runs, under the same isolation, and reads sources from its stdin. Only what it says clearly
counts (classes, or the compiler's complaints); whenever it is slow, confused or gone, the cold
compiler with its exact limits decides, and a new server is started for the next program.
"""

from __future__ import annotations

import contextlib
import os
import select
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

from assay.errors import SandboxError
from assay.sandbox.link import Launch
from assay.sandbox.stop import Stop, StoppedError
from assay.sandbox.worker import Worker, WorkerLostError

FILE = "CompileServer.java"
SOURCE = r"""
import java.io.*;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.*;
import javax.tools.*;

public class CompileServer {
    static class Source extends SimpleJavaFileObject {
        final String text;
        Source(String name, String text) {
            super(URI.create("string:///" + name), Kind.SOURCE);
            this.text = text;
        }
        public CharSequence getCharContent(boolean ignore) { return text; }
    }
    static class Binary extends SimpleJavaFileObject {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        Binary(String name) {
            super(URI.create("mem:///" + name.replace('.', '/') + ".class"), Kind.CLASS);
        }
        public OutputStream openOutputStream() { return bytes; }
    }
    static class Memory extends ForwardingJavaFileManager<StandardJavaFileManager> {
        final Map<String, Binary> classes = new TreeMap<>();
        Memory(StandardJavaFileManager manager) { super(manager); }
        public JavaFileObject getJavaFileForOutput(Location place, String name,
                JavaFileObject.Kind kind, FileObject near) {
            Binary made = new Binary(name);
            classes.put(name.replace('.', '/') + ".class", made);
            return made;
        }
    }
    static void number(OutputStream out, int value, int size) throws IOException {
        for (int i = 0; i < size; i++) out.write(value >> (8 * i));
    }
    public static void main(String[] arguments) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null);
        List<String> options = List.of("-proc:none", "-nowarn", "-Xmaxerrs", "20");
        while (true) {
            byte[] name = new byte[in.readInt()];
            in.readFully(name);
            byte[] text = new byte[in.readInt()];
            in.readFully(text);
            Memory memory = new Memory(files);
            StringWriter said = new StringWriter();
            Source source = new Source(new String(name, StandardCharsets.UTF_8),
                    new String(text, StandardCharsets.UTF_8));
            JavaCompiler.CompilationTask task =
                    compiler.getTask(said, memory, null, options, null, List.of(source));
            boolean good = task.call();
            ByteArrayOutputStream body = new ByteArrayOutputStream();
            if (good) {
                for (Map.Entry<String, Binary> one : memory.classes.entrySet()) {
                    byte[] label = one.getKey().getBytes(StandardCharsets.UTF_8);
                    byte[] content = one.getValue().bytes.toByteArray();
                    number(body, label.length, 2);
                    number(body, content.length, 4);
                    body.write(label);
                    body.write(content);
                }
            } else {
                body.write(said.toString().getBytes(StandardCharsets.UTF_8));
            }
            out.writeByte(good ? 'O' : 'E');
            out.writeInt(body.size());
            body.writeTo(out);
            out.flush();
        }
    }
}
"""
OPTIONS = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
_HEAD = struct.Struct(">cI")
_START_S = 20.0
_MOST_BYTES = 64 << 20
_LIFE_S = 6 * 3600.0


class WarmJavac:
    """At most one compile server of a pool, started when it is first needed.

    Args:
        launch: How its worker starts.
    """

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._lock = threading.Lock()
        self._server: _Server | None = None
        self._failures = 0

    def compile(
        self, request: Callable[[], dict[str, Any]], file: str, source: bytes, wall_s: float
    ) -> tuple[bytes, bytes] | None:
        """Compile one source.

        Args:
            request: Makes the request that starts the server.
            file: The source's file name.
            source: Its text.
            wall_s: Most seconds.

        Returns:
            `b"O"` and the classes, or `b"E"` and the complaints; None where the cold compiler has
            to decide.
        """
        with self._lock:
            if self._failures >= 3:
                return None
            try:
                if self._server is None:
                    self._server = _Server(self._launch, request())
                answer = self._server.ask(file, source, wall_s)
            except (WorkerLostError, SandboxError, OSError, ValueError):
                answer = None
            if answer is None:
                self._failures += 1
                self._drop()
            else:
                self._failures = 0
            return answer

    def close(self) -> None:
        """End the server."""
        with self._lock:
            self._drop()

    def abandon(self) -> None:
        """After a fork: leave it to the parent."""
        if self._server is not None:
            self._server.abandon()

    def _drop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None


class _Server:
    def __init__(self, launch: Launch, request: dict[str, Any]) -> None:
        self._stop = Stop()
        self._worker = Worker(launch)
        reading, self._write_fd = os.pipe()
        self._read_fd, writing = os.pipe()
        os.set_blocking(self._write_fd, False)
        self._first = True
        self._thread = threading.Thread(
            target=self._serve, args=(request, (reading, writing)), daemon=True
        )
        self._thread.start()

    def _serve(self, request: dict[str, Any], streams: tuple[int, int]) -> None:
        with contextlib.suppress(WorkerLostError, StoppedError, SandboxError):
            list(self._worker.run(request, _LIFE_S + 60, self._stop, streams))

    def ask(self, file: str, source: bytes, wall_s: float) -> tuple[bytes, bytes] | None:
        name = file.encode()
        data = b"".join(
            (len(name).to_bytes(4, "big"), name, len(source).to_bytes(4, "big"), source)
        )
        deadline = time.monotonic() + wall_s + (_START_S if self._first else 0)
        self._first = False
        rest, answer = memoryview(data), bytearray()
        while True:
            left_ms = (deadline - time.monotonic()) * 1000
            poll = select.poll()
            poll.register(self._read_fd, select.POLLIN)
            if rest:
                poll.register(self._write_fd, select.POLLOUT)
            ready = dict(poll.poll(max(0.0, left_ms)))
            if not ready:
                return None
            if self._write_fd in ready:
                rest = rest[os.write(self._write_fd, rest[: 1 << 16]) :]
            if self._read_fd in ready:
                piece = os.read(self._read_fd, 1 << 20)
                if not piece:
                    return None
                answer += piece
                if len(answer) >= _HEAD.size:
                    kind, size = _HEAD.unpack_from(answer)
                    if size > _MOST_BYTES or kind not in (b"O", b"E"):
                        return None
                    if len(answer) == _HEAD.size + size:
                        return kind, bytes(answer[_HEAD.size :])

    def close(self) -> None:
        self._stop.abandoned = True
        for fd in (self._write_fd, self._read_fd):
            with contextlib.suppress(OSError):
                os.close(fd)
        self._worker.close(at_once=True)
        self._thread.join(timeout=10)

    def abandon(self) -> None:
        for fd in (self._write_fd, self._read_fd):
            with contextlib.suppress(OSError):
                os.close(fd)
        self._worker.abandon()
