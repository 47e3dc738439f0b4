# ruff: noqa: E501, RUF001
"""Programs that attack a sandbox, and honest ones that sandboxes tend to misjudge.

Every program answers "read two integers, print their sum" (`stdio`), or defines `solve(a, b)`
(`function`). They run only inside a sandbox.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from assay.sandbox import AssertTest, FunctionTest, Job, Limits, StdioTest

STDIO = (StdioTest("1 2\n", "3\n"), StdioTest("10 -4\n", "6\n"))
FUNCTION = (FunctionTest("solve", (1, 2), 3), FunctionTest("solve", (10, -4), 6))
ASSERTS = (AssertTest("assert solve(1, 2) == 3"), AssertTest("assert solve(10, -4) == 6"))
LIMITS = Limits(cpu_s=1, wall_s=3, memory_mb=256)
KINDS = {"stdio": STDIO, "function": FUNCTION, "assert": ASSERTS}


@dataclass(frozen=True)
class Program:
    name: str
    source: str
    expected: tuple[str, ...]
    kind: str = "stdio"
    language: str = "python"
    limits: Limits = LIMITS
    tests: tuple = ()
    forbidden: tuple[str, ...] = ("LEAK",)
    most_s: float = field(default=20.0)

    def job(self) -> Job:
        tests = self.tests or KINDS[self.kind]
        return Job(self.source, tests, language=self.language, limits=self.limits)


def attack(name, expected, source, **settings) -> Program:
    return Program(name, source, tuple(expected.split()), **settings)


def honest(name, source, **settings) -> Program:
    return Program(name, source, ("AC",), **settings)


READ = "import sys\na, b = map(int, sys.stdin.readline().split())\n"
RIGHT = READ + "print(a + b, flush=True)\n"

ATTACKS = [
    # early exit
    attack("fn_os_exit", "RE", "import os\ndef solve(a, b):\n    os._exit(0)\n", kind="function"),
    attack("fn_system_exit", "RE", "def solve(a, b):\n    raise SystemExit(0)\n", kind="function"),
    attack("fn_exit_on_import", "RE", "import os\nos._exit(0)\n", kind="function"),
    attack(
        "assert_exit0", "RE WA", "import sys\ndef solve(a, b):\n    sys.exit(0)\n", kind="assert"
    ),
    attack(
        "assert_exit_hook",
        "RE WA",
        "import atexit, os\natexit.register(lambda: os._exit(0))\ndef solve(a, b):\n    return 0\n",
        kind="assert",
    ),
    attack(
        "assert_redefines_builtins",
        "RE WA",
        "def set(x):\n    return 1\ndef len(x):\n    return 1\ndef solve(a, b):\n    return [a]\n",
        kind="assert",
        tests=(AssertTest("assert set(solve(1, 2)) == set((4, 5))"),),
    ),
    # forged verdicts
    attack(
        "spoof_file_marker",
        "WA",
        "import os\nfor name in ('result', 'verdict.json', 'AC', '.passed', 'score.txt'):\n"
        "    for folder in ('.', '/tmp', '/prog', '/'):\n        try:\n"
        "            open(os.path.join(folder, name), 'w').write('AC 1.0 passed')\n"
        "        except OSError:\n            pass\nprint('none')\n",
    ),
    attack(
        "fn_writes_channel",
        "RE WA",
        "import os\ndef solve(a, b):\n    for fd in range(3, 64):\n        try:\n"
        "            os.write(fd, b'V3')\n            os.write(fd, b'T' + b'0' * 32)\n"
        "        except OSError:\n            pass\n    return 'x'\n",
        kind="function",
    ),
    attack(
        "patch_builtins",
        "WA RE",
        "import builtins\nbuiltins.isinstance = lambda *a: True\nbuiltins.all = lambda *a: True\n"
        "builtins.len = lambda *a: 1\nbuiltins.compile = lambda *a, **k: None\n"
        "def solve(a, b):\n    return 'wrong'\n",
        kind="function",
    ),
    attack(
        "run_tests_overwrite",
        "WA RE",
        "import sys\nclass Everything:\n    def __getattr__(self, name):\n"
        "        return lambda *a, **k: True\n"
        "for name in ('pytest', 'unittest', 'json', 'assay', 'assay.sandbox'):\n"
        "    sys.modules[name] = Everything()\ndef run_tests(*a):\n    return True\n"
        "def solve(a, b):\n    return 0\n",
        kind="function",
    ),
    # values
    attack(
        "repr_bomb",
        "RE WA OLE MLE TLE",
        "class Bomb:\n    def __repr__(self):\n        return 'x' * (1 << 40)\n"
        "    __str__ = __repr__\ndef solve(a, b):\n    return [Bomb()] * 100\n",
        kind="function",
    ),
    attack(
        "huge_result",
        "RE OLE MLE TLE",
        "def solve(a, b):\n    x = []\n    for _ in range(40):\n        x = [x, x]\n    return x\n",
        kind="function",
    ),
    attack(
        "endless_iterator",
        "RE OLE MLE TLE",
        "def solve(a, b):\n    while True:\n        yield 3\n",
        kind="function",
    ),
    attack(
        "deep_result",
        "RE WA",
        "def solve(a, b):\n    x = []\n    for _ in range(100000):\n        x = [x]\n    return x\n",
        kind="function",
    ),
    attack(
        "cyclic_result",
        "RE WA",
        "def solve(a, b):\n    x = []\n    x.append(x)\n    return x\n",
        kind="function",
    ),
    attack(
        "true_for_one",
        "WA",
        "def solve(a, b):\n    return True\n",
        kind="function",
        tests=(FunctionTest("solve", (1, 0), 1),),
    ),
    # stealing
    attack(
        "steal_frames",
        "WA RE",
        "import sys\ndef solve(a, b):\n    frame = sys._getframe()\n    while frame:\n"
        "        for scope in (frame.f_locals, frame.f_globals):\n"
        "            for name in ('expected', 'output', 'outputs', 'answer', 'want'):\n"
        "                if name in scope and not callable(scope[name]):\n"
        "                    return scope[name]\n        frame = frame.f_back\n    return None\n",
        kind="function",
    ),
    attack(
        "steal_self_mem",
        "WA RE",
        "import re\ndef solve(a, b):\n    with open('/proc/self/maps') as maps:\n"
        "        ranges = [line.split()[0] for line in maps if ' rw' in line]\n"
        "    with open('/proc/self/mem', 'rb', 0) as memory:\n        for one in ranges:\n"
        "            low, high = (int(x, 16) for x in one.split('-'))\n            try:\n"
        "                memory.seek(low)\n                data = memory.read(min(high - low, 1 << 24))\n"
        "            except (OSError, ValueError, OverflowError):\n                continue\n"
        "            found = re.search(rb'expec' + rb'ted\\W{1,8}(-?\\d+)', data)\n"
        "            if found:\n                return int(found[1])\n    return None\n",
        kind="function",
    ),
    attack(
        "steal_parent_mem",
        "WA RE",
        "import os\nleak = []\nfor pid in {os.getppid(), 1, 2, 3}:\n"
        "    if pid in (0, os.getpid()):\n        continue\n"
        "    for name in ('mem', 'environ', 'maps', 'fd/0', 'fd/3', 'cwd/x', 'root/etc/passwd'):\n"
        "        try:\n            fd = os.open(f'/proc/{pid}/{name}', os.O_RDWR)\n"
        "            leak.append(name)\n        except OSError:\n            pass\n"
        "        try:\n            if open(f'/proc/{pid}/{name}', 'rb').read(16):\n"
        "                leak.append(name)\n        except OSError:\n            pass\n"
        "print('LEAK', leak) if leak else print('none')\n",
    ),
    attack(
        "steal_cmdline",
        "WA",
        "import os\nout = b''\nfor pid in os.listdir('/proc'):\n    if pid.isdigit():\n"
        "        try:\n            out += open(f'/proc/{pid}/cmdline', 'rb').read()\n"
        "        except OSError:\n            pass\n"
        "print('LEAK' if b'expected' in out or b'bwrap' in out else 'none')\n",
    ),
    # processes
    attack(
        "kill_everything",
        "WA RE TLE",
        "import os, signal\nfor number in (9, 15, 19, 2, 1):\n    for pid in (1, -1, 0, os.getppid()):\n"
        "        try:\n            if pid == 0 or pid == -1:\n"
        "                signal.signal(number, signal.SIG_IGN) if number not in (9, 19) else None\n"
        "                if number in (9, 19):\n                    continue\n"
        "            os.kill(pid, number)\n        except (OSError, ValueError):\n            pass\n"
        "print('none')\n",
    ),
    attack("kill_all_hard", "RE WA", "import os\nos.kill(-1, 9)\nprint('none')\n"),
    attack("stop_all", "TLE WA RE", "import os\nos.kill(-1, 19)\nos.kill(os.getpid(), 19)\n"),
    attack(
        "ptrace_parent",
        "WA",
        "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nhits = []\n"
        "for pid in (1, os.getppid()):\n    for request in (16, 0x4206):\n"
        "        if libc.ptrace(request, pid, 0, 0) == 0:\n            hits.append(pid)\n"
        "    buffer = ctypes.create_string_buffer(64)\n"
        "    local = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 64)\n"
        "    remote = (ctypes.c_void_p * 2)(0x400000, 64)\n"
        "    if libc.process_vm_readv(pid, local, 1, remote, 1, 0) > 0:\n        hits.append('vm')\n"
        "print('LEAK' if hits else 'none')\n",
    ),
    attack(
        "limit_parent",
        "WA",
        "import resource, os, ctypes\nhits = []\nfor pid in (1, os.getppid()):\n    try:\n"
        "        resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, 0))\n        hits.append('prlimit')\n"
        "    except (OSError, ValueError):\n        pass\n    try:\n"
        "        os.setpriority(os.PRIO_PROCESS, pid, 19)\n        hits.append('nice')\n"
        "    except OSError:\n        pass\n    try:\n"
        "        os.sched_setaffinity(pid, {0})\n        hits.append('affinity')\n"
        "    except OSError:\n        pass\nprint('LEAK', hits) if hits else print('none')\n",
    ),
    attack(
        "getppid_signal_flood",
        "AC",
        "import os, signal\n" + RIGHT + "for number in range(1, 65):\n    try:\n"
        "        os.kill(os.getppid(), number)\n    except OSError:\n        pass\n",
    ),
    attack("busy_loop", "TLE", "while True:\n    pass\n"),
    attack("sleep_forever", "TLE", "import time\ntime.sleep(1000)\n"),
    attack(
        "cpu_hidden",
        "TLE",
        READ + "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "for _ in range(6):\n    if os.fork() == 0:\n        end = time.process_time() + 0.4\n"
        "        while time.process_time() < end:\n            pass\n        os._exit(0)\n"
        "    try:\n        os.wait()\n    except ChildProcessError:\n        pass\n"
        "print(a + b)\n",
        limits=replace(LIMITS, wall_s=12),
    ),
    attack(
        "cpu_in_grandchildren",
        "TLE",
        READ + "import os, time\nends, held = os.pipe()\nfor _ in range(6):\n"
        "    pid = os.fork()\n    if pid == 0:\n"
        "        if os.fork() == 0:\n            end = time.process_time() + 0.4\n"
        "            while time.process_time() < end:\n                pass\n"
        "            os._exit(0)\n        os._exit(0)\n    os.waitpid(pid, 0)\n"
        "os.close(held)\nos.read(ends, 1)\nprint(a + b)\n",
        limits=replace(LIMITS, wall_s=12),
    ),
    attack(
        "rlimit_raise",
        "WA TLE RE",
        "import resource\nraised = []\nfor name in dir(resource):\n"
        "    if name.startswith('RLIMIT_'):\n        kind = getattr(resource, name)\n"
        "        soft, hard = resource.getrlimit(kind)\n        try:\n"
        "            resource.setrlimit(kind, (-1, -1))\n"
        "            if hard != -1:\n                raised.append(name)\n"
        "        except (OSError, ValueError):\n            pass\n"
        "print('LEAK', raised) if raised else print('none')\n",
    ),
    attack(
        "zombie_hoard",
        "AC RE WA",
        READ + "import os\nfor _ in range(200):\n    try:\n        if os.fork() == 0:\n"
        "            os._exit(0)\n    except OSError:\n        break\nprint(a + b)\n",
    ),
    attack(
        "thread_bomb",
        "RE WA TLE MLE",
        "import threading, time\nfor _ in range(5000):\n"
        "    threading.Thread(target=time.sleep, args=(100,)).start()\n",
    ),
    attack(
        "fork_chain",
        "TLE RE WA",
        "import os\nwhile True:\n    if os.fork():\n        os._exit(0)\n    os.setsid()\n",
    ),
    # memory
    attack(
        "mem_children",
        "MLE",
        "import os\nfor _ in range(8):\n    if os.fork() == 0:\n"
        "        x = bytearray(b'1') * (60 << 20)\n        import time\n        time.sleep(2)\n"
        "        os._exit(0)\nfor _ in range(8):\n    os.wait()\nprint('none')\n",
    ),
    attack(
        "mem_shm",
        "MLE RE WA",
        "n = 0\ntry:\n    for i in range(64):\n        with open(f'/dev/shm/{i}', 'wb') as f:\n"
        "            for _ in range(16):\n                n += f.write(b'1' * (1 << 20))\n"
        "except OSError:\n    pass\nprint('LEAK' if n > 300 << 20 else 'none')\n",
    ),
    attack(
        "mem_shared_map",
        "MLE RE",
        "import mmap\nmaps = []\nfor _ in range(40):\n    m = mmap.mmap(-1, 16 << 20)\n"
        "    for i in range(0, 16 << 20, 4096):\n        m[i] = 1\n    maps.append(m)\nprint('none')\n",
        limits=replace(LIMITS, cpu_s=4, wall_s=8),
    ),
    attack(
        "stack_overflow",
        "RE MLE",
        RIGHT + "import ctypes\n"
        "f = ctypes.CFUNCTYPE(None)(lambda: f())\nsys.setrecursionlimit(10**9)\nf()\n",
        limits=replace(LIMITS, cpu_s=4, wall_s=8),
    ),
    attack("abort", "RE", RIGHT + "import os\nos.abort()\n"),
    # disk
    attack(
        "deep_dirs",
        "AC RE WA",
        READ + "import os\ntry:\n    for _ in range(3000):\n        os.mkdir('d')\n"
        "        os.chdir('d')\nexcept OSError:\n    pass\nprint(a + b)\n",
    ),
    attack(
        "write_everywhere",
        "WA",
        "import os\nhits = []\nfor folder in ('/', '/usr', '/usr/lib', '/etc', '/prog', '/dev', '/bin',\n"
        "               '/proc/self', os.path.dirname(os.__file__)):\n    try:\n"
        "        with open(os.path.join(folder, 'x'), 'w'):\n            hits.append(folder)\n"
        "    except OSError:\n        pass\nprint('LEAK', hits) if hits else print('none')\n",
    ),
    attack(
        "symlink_plant",
        "WA",
        "import os\nfor name in ('out', 'result', 'stdout', 'main', '.shm/x'):\n    try:\n"
        "        os.symlink('/etc/passwd', name)\n    except OSError:\n        pass\n"
        "os.rmdir('.shm') if os.path.isdir('.shm') and not os.listdir('.shm') else None\n"
        "print('none')\n",
    ),
    # output
    attack(
        "stderr_flood",
        "TLE OLE",
        "import os\nblock = b'7' * 65536\nwhile True:\n    os.write(2, block)\n",
    ),
    attack("lookalike_digits", "WA", "print('３')\n"),
    attack("prefix_output", "WA", READ + "print(str(a + b)[:0])\n"),
    attack("longer_output", "WA", READ + "print(a + b)\nprint()\nprint('and more')\n"),
    attack("empty_vs_error", "RE", "raise ValueError\n", tests=(StdioTest("", ""),)),
    attack("no_output", "WA", "pass\n"),
    attack("nul_bytes", "WA", READ + "print(str(a + b) + chr(0))\n"),
    # the kernel and the machine
    attack(
        "unix_sockets",
        "WA",
        "import os, socket\nhits = []\n"
        "for path in ('/var/run/docker.sock', '/run/docker.sock', '/run/dbus/system_bus_socket',\n"
        "             '/tmp/.X11-unix/X0', '\\0/tmp/.X11-unix/X0', '/run/systemd/private'):\n"
        "    with socket.socket(socket.AF_UNIX) as s:\n        try:\n            s.connect(path)\n"
        "            hits.append(path)\n        except OSError:\n            pass\n"
        "print('LEAK', hits) if hits else print('none')\n",
    ),
    attack(
        "socket_families",
        "WA",
        "import socket\nopen_families = []\nfor family in range(2, 46):\n"
        "    for kind in (1, 2, 3):\n        try:\n            socket.socket(family, kind).close()\n"
        "            open_families.append(family)\n        except (OSError, ValueError):\n"
        "            pass\nprint('LEAK', open_families) if open_families else print('none')\n",
    ),
    attack(
        "devices",
        "WA",
        "import os, stat\nhits = []\nfor name in os.listdir('/dev'):\n    path = '/dev/' + name\n"
        "    if name in ('null', 'zero', 'full', 'random', 'urandom'):\n        continue\n"
        "    mode = os.lstat(path).st_mode\n"
        "    if stat.S_ISBLK(mode) or stat.S_ISCHR(mode):\n        hits.append(name)\n"
        "for kind in (stat.S_IFBLK, stat.S_IFCHR):\n    try:\n"
        "        os.mknod('/tmp/x', 0o600 | kind, os.makedev(1, 1))\n        hits.append('mknod')\n"
        "    except OSError:\n        pass\nprint('LEAK', hits) if hits else print('none')\n",
    ),
    attack(
        "system_calls",
        "WA",
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "buf = ctypes.create_string_buffer(256)\nhits = []\n"
        "for name, call in {'shmget': (29, 0, 4096, 0o1600), 'semget': (64, 0, 1, 0o1600),\n"
        "    'msgget': (68, 0, 0o1600), 'mq_open': (240, b'x', 0o102, 0o600, 0),\n"
        "    'request_key': (249, b'user', b'x', 0, 0), 'keyctl': (250, 0, -3, 1),\n"
        "    'memfd_secret': (447, 0), 'fsopen': (430, b'tmpfs', 0), 'kcmp': (312, 1, 2, 0, 0, 0),\n"
        "    'pidfd_getfd': (438, 0, 0, 0), 'clone3': (435, buf, 88), 'modify_ldt': (154, 0, buf, 64),\n"
        "    'personality': (135, 0x0040000), 'fanotify': (300, 0, 0), 'iopl': (172, 3)}.items():\n"
        "    if libc.syscall(*call) >= 0:\n        hits.append(name)\n"
        "print('LEAK', hits) if hits else print('none')\n",
    ),
    attack(
        "new_namespaces",
        "WA",
        "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nhits = []\n"
        "for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x8000000, 0x4000000, 0x2000000, 0x80):\n"
        "    if libc.unshare(flag) == 0:\n        hits.append(hex(flag))\n"
        "    pid = libc.syscall(56, flag | 17, 0, 0, 0, 0) if flag > 255 else -1\n    if pid == 0:\n"
        "        os._exit(0)\n    if pid > 0:\n        hits.append('clone ' + hex(flag))\n"
        "print('LEAK', hits) if hits else print('none')\n",
    ),
    attack(
        "capabilities",
        "WA",
        "import os\nstatus = open('/proc/self/status').read()\n"
        "bad = [line for line in status.splitlines() if line.startswith('Cap') and int(line.split()[1], 16)]\n"
        "hits = bad + (['nnp'] if 'NoNewPrivs:\\t1' not in status else [])\n"
        "hits += ['seccomp'] if 'Seccomp:\\t2' not in status else []\n"
        "hits += ['root'] if os.getuid() == 0 or os.setuid is None else []\n"
        "print('LEAK', hits) if hits else print('none')\n",
    ),
    attack(
        "capabilities_after_exec",
        "WA",
        "import subprocess\nout = subprocess.run(['/bin/cat', '/proc/self/status'], capture_output=True, text=True)\n"
        "bad = [x for x in out.stdout.splitlines() if x.startswith('Cap') and int(x.split()[1], 16)]\n"
        "print('LEAK', bad) if bad or not out.stdout else print('none')\n",
    ),
    # state
    attack(
        "state_between_tests",
        "WA",
        "import os, sys\nfolders = ('/tmp', '/dev/shm', '.', '/prog', '/var/tmp')\n"
        "found = any(os.path.exists(os.path.join(one, 'state')) for one in folders)\n"
        "for folder in folders:\n    path = os.path.join(folder, 'state')\n"
        "    try:\n        open(path, 'w').write('x')\n    except OSError:\n        pass\n"
        "try:\n    os.chmod('/tmp', 0o700 if os.stat('/tmp').st_mode & 7 else 0o711)\n"
        "except OSError:\n    pass\nprint('LEAK' if found else 'none')\n",
    ),
    attack(
        "lock_between_tests",
        "WA",
        "import fcntl, os\nhits = []\nfor path in ('/usr/bin/env', '/prog/main.py', '/etc/passwd'):\n"
        "    try:\n        fd = os.open(path, os.O_RDONLY)\n"
        "        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "        if os.fork() == 0:\n            os.setsid()\n            import time\n"
        "            time.sleep(60)\n    except BlockingIOError:\n        hits.append(path)\n"
        "    except OSError:\n        pass\nprint('LEAK', hits) if hits else print('none')\n",
    ),
]

COMPILED = [
    attack(
        "cc_include_self",
        "CE",
        '#include "main.c"\n#include __FILE__\nint main(void){return 0;}\n',
        language="c",
    ),
    attack(
        "cc_include_secret",
        "CE",
        '#include "/etc/shadow"\nint main(void){return 0;}\n',
        language="c",
        forbidden=("root:",),
    ),
    attack(
        "cc_include_parent",
        "CE",
        '#include "../../../../root/.bashrc"\n#include "/etc/hostname"\nint main(void){return 0;}\n',
        language="c",
    ),
    attack(
        "cc_incbin",
        "CE WA",
        '__asm__(".section .rodata\\nsecret: .incbin \\"/etc/shadow\\"\\n.byte 0\\n.text\\n");\n'
        "#include <stdio.h>\nextern const char secret[];\nint main(void){puts(secret);return 0;}\n",
        language="c",
        forbidden=("root:",),
    ),
    attack(
        "cc_big_binary",
        "CE WA RE MLE",
        "static char x[1u << 30] = {1};\nint main(void){return x[5];}\n",
        language="c",
    ),
    attack("cc_null", "RE", "int main(void){volatile int *p = 0; return *p;}\n", language="c"),
    attack(
        "cc_divide",
        "RE",
        "int main(void){volatile int zero = 0; volatile int x = 100 / zero; return x;}\n",
        language="c",
    ),
    attack(
        "cc_memory",
        "MLE",
        "#include <stdlib.h>\n#include <string.h>\nint main(void){for(int i=0;i<4000;i++)"
        "{char *p=malloc(1<<20); if(!p) abort(); memset(p,1,1<<20);} return 0;}\n",
        language="c",
    ),
    attack(
        "cc_vector_memory",
        "MLE",
        "#include <vector>\nint main(){std::vector<std::vector<int>> v; for(;;)"
        " v.emplace_back(1<<18, 1);}\n",
        language="cpp",
    ),
    attack("cc_loop", "TLE", "int main(void){volatile long x = 0; for(;;) x++;}\n", language="c"),
    attack(
        "cc_flood",
        "OLE",
        '#include <stdio.h>\nint main(void){for(;;) puts("7777777777777777777777");}\n',
        language="c",
        limits=replace(LIMITS, cpu_s=5, wall_s=10),
    ),
    attack(
        "cc_stack",
        "RE MLE",
        "int f(int n){volatile char x[4096]; x[n & 4095] = 1; return f(n + 1) + x[0];}\n"
        "int main(void){return f(0);}\n",
        language="c",
    ),
    attack("js_exit", "WA", "process.exit(0);\n", language="javascript"),
    attack(
        "js_exit_status",
        "RE",
        "const [a,b]=require('fs').readFileSync(0,'utf8').trim().split(' ').map(Number);"
        "console.log(a+b);process.exitCode=3;\n",
        language="javascript",
    ),
    attack("js_interval", "TLE", "setInterval(() => {}, 1000);\n", language="javascript"),
    attack("js_throw", "RE", "throw new Error('x');\n", language="javascript"),
    attack(
        "js_heap_objects",
        "MLE RE",
        "const k=[];for(;;)k.push({a:new Array(1000).fill(1)});\n",
        language="javascript",
        limits=Limits(cpu_s=10, wall_s=20, memory_mb=256),
        most_s=60,
    ),
    attack(
        "java_loop",
        "TLE",
        "class Main { public static void main(String[] a) { for (;;); } }\n",
        language="java",
    ),
    attack(
        "java_heap",
        "MLE",
        "import java.util.*; class Main { public static void main(String[] a) {"
        " List<long[]> k = new ArrayList<>(); for (;;) k.add(new long[1 << 16]); } }\n",
        language="java",
        limits=Limits(cpu_s=10, wall_s=20, memory_mb=256),
    ),
    attack(
        "java_throw",
        "RE",
        "class Main { public static void main(String[] a) { throw new RuntimeException(); } }\n",
        language="java",
    ),
    attack("java_syntax", "CE", "class Main { public static void main( }\n", language="java"),
    attack(
        "go_cgo",
        "CE",
        'package main\n// #include "/etc/shadow"\nimport "C"\nfunc main() {}\n',
        language="go",
        forbidden=("root:",),
    ),
    attack("go_syntax", "CE", "package main\nfunc main() { x }\n", language="go"),
    attack("go_panic", "RE", 'package main\nfunc main() { panic("x") }\n', language="go"),
    attack("rs_syntax", "CE", 'fn main() { let x: i32 = "a"; }\n', language="rust"),
    attack("rs_panic", "RE", 'fn main() { panic!("x"); }\n', language="rust"),
    attack(
        "rs_env",
        "WA CE",
        'fn main() { println!("{:?}", option_env!("HOME_SECRET")); }\n',
        language="rust",
    ),
]

HONEST = [
    honest("plain", RIGHT),
    honest(
        "buffer",
        "import sys\ndata = sys.stdin.buffer.read().split()\nprint(int(data[0]) + int(data[1]))\n",
    ),
    honest(
        "buffer_readline",
        "import sys\nread = sys.stdin.buffer.readline\na, b = map(int, read().split())\n"
        "sys.stdout.buffer.write(b'%d\\n' % (a + b))\n",
    ),
    honest("open_zero", "a, b = map(int, open(0).read().split())\nprint(a + b)\n"),
    honest("dev_stdin", "a, b = map(int, open('/dev/stdin').read().split())\nprint(a + b)\n"),
    honest(
        "open_one_unclosed",
        "f = open(1, 'w')\na, b = map(int, input().split())\nf.write(str(a + b))\n",
    ),
    honest(
        "main_guard",
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    a: int\n    b: int\n"
        "total = 0\ndef main():\n    global total\n    p = P(*map(int, input().split()))\n"
        "    total = p.a + p.b\n    print(total)\nif __name__ == '__main__':\n    main()\n",
    ),
    honest("sys_exit", "import sys\na, b = map(int, input().split())\nprint(a + b)\nsys.exit(0)\n"),
    honest("exit_builtin", "a, b = map(int, input().split())\nprint(a + b)\nexit()\n"),
    honest(
        "os_exit_after_flush",
        "import os, sys\na, b = map(int, input().split())\nprint(a + b)\n"
        "sys.stdout.flush()\nos._exit(0)\n",
    ),
    honest(
        "atexit_output",
        "import atexit, io, sys\nout = io.StringIO()\nreal = sys.stdout\nsys.stdout = out\n"
        "atexit.register(lambda: real.write(out.getvalue()))\na, b = map(int, input().split())\nprint(a + b)\n",
    ),
    honest(
        "multiprocessing",
        "import multiprocessing\ndef add(pair):\n    return sum(pair)\n"
        "if __name__ == '__main__':\n    a, b = map(int, input().split())\n"
        "    with multiprocessing.Pool(2) as pool:\n        print(pool.map(add, [(a, b)])[0])\n",
    ),
    honest(
        "threads",
        "import threading\na, b = map(int, input().split())\nout = []\n"
        "t = threading.Thread(target=lambda: out.append(a + b))\nt.start()\nt.join()\nprint(out[0])\n",
    ),
    honest(
        "late_thread",
        "import threading, time\na, b = map(int, input().split())\n"
        "threading.Thread(target=lambda: (time.sleep(0.2), print(a + b))).start()\n",
    ),
    honest(
        "asyncio",
        "import asyncio\nasync def main():\n    a, b = map(int, input().split())\n"
        "    await asyncio.sleep(0)\n    print(a + b)\nasyncio.run(main())\n",
    ),
    honest(
        "deep_recursion",
        "import sys\nsys.setrecursionlimit(10**6)\ndef d(n):\n    return 0 if n == 0 else 1 + d(n - 1)\n"
        "a, b = map(int, input().split())\nassert d(50000) == 50000\nprint(a + b)\n",
    ),
    honest(
        "subprocess",
        "import subprocess\na, b = map(int, input().split())\n"
        "print(subprocess.run(['/bin/echo', str(a + b)], capture_output=True, text=True).stdout)\n",
    ),
    honest(
        "files",
        "import tempfile, os\na, b = map(int, input().split())\n"
        "with tempfile.NamedTemporaryFile('w', delete=False) as f:\n    f.write(str(a + b))\n"
        "print(open(f.name).read())\n",
    ),
    honest(
        "reads_itself",
        "a, b = map(int, input().split())\nassert 'reads' in open(__file__).read() or True\nprint(a + b)\n",
    ),
    honest(
        "imports",
        "import math, re, json, random, itertools, collections, heapq, bisect, decimal, fractions\n"
        "import string, datetime, statistics, functools, operator, copy, typing, enum, array\n"
        + RIGHT,
    ),
    honest("numbers", "def solve(a, b):\n    return float(a + b)\n", kind="function"),
    honest(
        "method",
        "class Solution:\n    def add(self, a, b):\n        return a + b\n",
        kind="function",
        tests=(FunctionTest("Solution.add", (1, 2), 3),),
    ),
    honest(
        "keyword_call",
        "def solve(*, a, b):\n    return {a: [b], 'c': None}\n",
        kind="function",
        tests=(FunctionTest("solve", (), {"1": [2], "c": None}, kwargs={"a": 1, "b": 2}),),
    ),
    honest(
        "prints_in_function",
        "def solve(a, b):\n    print('debug')\n    return a + b\n",
        kind="function",
    ),
    honest("asserts", "def solve(a, b):\n    return a + b\n", kind="assert"),
    honest(
        "surrogates",
        "s = input()\nprint(len(s))\n",
        tests=(StdioTest("h\u00e9llo \U0001f600\n", "7\n"),),
    ),
    honest("no_newline", "a, b = map(int, input().split())\nprint(a + b, end='')\n"),
    honest("crlf", "a, b = map(int, input().split())\nprint(a + b, end='\\r\\n')\n"),
]
