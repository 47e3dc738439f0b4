"""A small C function that starts compiled programs without copying the supervisor's memory.

`fork` of an interpreter costs more than running a small program. The function does what
`inner_guest.confine` and `execute` do, between a `vfork`-like clone and `execve`. It is compiled
once, in the sandbox, where there is a C compiler; without it, the Python path does the same.
"""

from __future__ import annotations

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct plan {
    const char *path;
    char *const *argv;
    char *const *envp;
    const char *folder;
    const int *groups;
    int group_count;
    int rules;               /* Landlock ruleset, or -1 */
    long cpu_seconds;
    int fds[3];
};

static char stack[65536] __attribute__((aligned(16)));

static int fail(const char *what) {
    if (write(2, what, strlen(what)) < 0) return 126;
    return 127;
}

static int child(void *argument) {
    const struct plan *plan = argument;
    unsigned int header[2] = {0x20080522, 0}, none[6] = {0};
    struct rlimit cpu = {plan->cpu_seconds, plan->cpu_seconds};
    sigset_t empty;
    for (int i = 0; i < plan->group_count; i++)
        if (write(plan->groups[i], "0", 1) != 1) _exit(125);
    setsid();
    if (plan->rules >= 0 && syscall(446, plan->rules, 0)) _exit(125);
    for (int i = 0; i < 3; i++)
        if (dup2(plan->fds[i], i) < 0) _exit(125);
    if (syscall(SYS_close_range, 3, ~0u, 0))
        for (int fd = 3; fd < 1024; fd++) close(fd);
    if (setrlimit(RLIMIT_CPU, &cpu)) _exit(125);
    if (syscall(SYS_capset, header, none)) _exit(125);
    if (chdir(plan->folder)) _exit(125);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    sigemptyset(&empty);
    sigprocmask(SIG_SETMASK, &empty, 0);
    execve(plan->path, plan->argv, plan->envp);
    _exit(fail("cannot run the program\n"));
}

int spawn(struct plan *plan, int in, int out, int err) {
    plan->fds[0] = in;
    plan->fds[1] = out;
    plan->fds[2] = err;
    return clone(child, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, plan);
}
"""

#: Compile command, in the placeholders of `languages`.
COMPILE = ("{tool}", "-O2", "-shared", "-fPIC", "-w", "-o", "{tmp}/out/helper", "{prog}/helper.c")
FILE = "helper.c"
