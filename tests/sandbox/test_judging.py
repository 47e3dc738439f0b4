from __future__ import annotations

import shutil

import pytest

from assay.errors import DataError
from assay.sandbox import AssertTest, Job, JudgeProgram, Limits, StdioTest, Verdict

ADD = "a, b = map(int, input().split())\nprint(a + b)\n"
TESTS = (StdioTest("1 2\n", ""), StdioTest("4 5\n", ""))
CHECKER = """
import sys
given, output, answer = (open(name).read() for name in sys.argv[1:4])
words = output.split()
if len(words) != 1 or not words[0].lstrip('-').isdigit():
    sys.exit(2)
sys.exit(0 if int(words[0]) == sum(map(int, given.split())) else 1)
"""
GUESSER = """
import sys
secret = int(open(sys.argv[1]).read())
for _ in range(12):
    guess = int(input())
    if guess == secret:
        print("=", flush=True)
        sys.exit(0)
    print("<" if secret < guess else ">", flush=True)
sys.exit(1)
"""
BISECTION = """
low, high = 0, 1000
while True:
    middle = (low + high) // 2
    print(middle, flush=True)
    said = input()
    if said == "=":
        break
    if said == "<":
        high = middle - 1
    else:
        low = middle + 1
"""
SECRETS = (StdioTest("77\n", ""), StdioTest("1000\n", ""))


def verdicts(sandbox, job):
    return [str(test.verdict) for test in sandbox.run([job])[0].tests]


def test_checker_function(sandbox):
    def check(stdin, stdout, expected):
        return int(stdout) == sum(map(int, stdin.split()))

    assert verdicts(sandbox, Job(ADD, TESTS, checker=check)) == ["AC", "AC"]
    assert verdicts(sandbox, Job("print(3)", TESTS, checker=check)) == ["AC", "WA"]
    assert verdicts(sandbox, Job("print('x')", TESTS, checker=check)) == ["IE", "IE"]


def test_checker_program(sandbox):
    checker = JudgeProgram(CHECKER)
    assert verdicts(sandbox, Job(ADD, TESTS, checker=checker)) == ["AC", "AC"]
    assert verdicts(sandbox, Job("print(3)", TESTS, checker=checker)) == ["AC", "WA"]
    assert verdicts(sandbox, Job("print('x')", TESTS, checker=checker)) == ["WA", "WA"]
    assert verdicts(sandbox, Job("1 / 0", TESTS, checker=checker)) == ["RE", "RE"]


@pytest.mark.parametrize(
    "source", ["1 / 0", "import sys\nsys.exit(3)", "while True: pass", "import os\nos.abort()"]
)
def test_a_broken_checker_is_our_failure(sandbox, source):
    checker = JudgeProgram(source, limits=Limits(cpu_s=0.5, wall_s=2))
    result = sandbox.run([Job(ADD, TESTS[:1], checker=checker)])[0]
    assert result.verdict is Verdict.IE and "judge program" in result.tests[0].reason


def test_checker_in_another_language(sandbox):
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    source = (
        '#include <stdio.h>\nint main(int c, char **v){FILE *i=fopen(v[1],"r"),*o=fopen(v[2],"r");'
        'int a,b,s; fscanf(i,"%d %d",&a,&b); return fscanf(o,"%d",&s)==1 && s==a+b ? 0 : 1;}\n'
    )
    assert verdicts(sandbox, Job(ADD, TESTS, checker=JudgeProgram(source, "c"))) == ["AC", "AC"]
    with pytest.raises(DataError, match="does not compile"):
        sandbox.run([Job(ADD, TESTS, checker=JudgeProgram("int main(", "c"))])


def test_the_solution_never_sees_the_checker(sandbox):
    snoop = "import os\nprint(sorted(os.listdir('/prog')))\n"
    seen: list = []
    sandbox.run([Job(snoop, TESTS[:1], checker=lambda i, o, e: seen.append(o) or True)])
    assert seen == ["['main.py']\n"]


def test_interaction(sandbox):
    judge = JudgeProgram(GUESSER)
    assert verdicts(sandbox, Job(BISECTION, SECRETS, interactor=judge)) == ["AC", "AC"]
    counting = "for n in range(50):\n    print(n, flush=True)\n    input()\n"
    assert verdicts(sandbox, Job(counting, SECRETS[:1], interactor=judge)) == ["WA"]
    assert verdicts(sandbox, Job("1 / 0", SECRETS[:1], interactor=judge)) == ["RE"]


def test_interaction_that_hangs(sandbox):
    limits = Limits(cpu_s=1, wall_s=1)
    judge = JudgeProgram(GUESSER, limits=Limits(cpu_s=1, wall_s=2))
    job = Job("import time\ntime.sleep(60)", SECRETS[:1], limits=limits, interactor=judge)
    assert verdicts(sandbox, job) == ["TLE"]
    endless = JudgeProgram("import time\ntime.sleep(60)", limits=Limits(cpu_s=1, wall_s=1))
    job = Job("pass", SECRETS[:1], limits=limits, interactor=endless)
    assert verdicts(sandbox, job) == ["IE"]


def test_only_with_stdio(sandbox):
    with pytest.raises(DataError, match="needs StdioTest"):
        sandbox.run([Job("x = 1", (AssertTest("assert x == 1"),), checker=JudgeProgram(CHECKER))])
