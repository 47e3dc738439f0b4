"""The number of rounds in which tasks can be done."""

from __future__ import annotations

from examples.problems.shapes import GRAPHS, graph, pairs

STATEMENT = (
    "V tasks depend on each other: E lines a b (a < b) say that a must be done in a round "
    "before b. What is the least number of rounds? Input: V and E, then the lines. Output: the "
    "number of rounds."
)

CONSTRAINTS = {"V": 100_000, "E": 200_000}

SHAPES = GRAPHS

TESTS = (
    ("4 3\n1 2\n2 3\n1 4\n", "3\n"),
    ("3 0\n", "1\n"),
    ("2 1\n1 2\n", "2\n"),
    ("5 4\n1 5\n2 5\n3 5\n4 5\n", "2\n"),
    ("4 6\n1 2\n1 3\n1 4\n2 3\n2 4\n3 4\n", "4\n"),
)


def generate(V: int, E: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    edges = graph(V, E, seed, shape)
    return f"{V} {len(edges)}\n{pairs(edges)}"


SOLUTIONS = {
    # Every task is taken from the queue once, every dependency removed once.
    "layers": (
        "python",
        "V + E",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
v, e = data[0], data[1]
after = [[] for _ in range(v + 1)]
waits = [0] * (v + 1)
for i in range(2, 2 + 2 * e, 2):
    after[data[i]].append(data[i + 1])
    waits[data[i + 1]] += 1
ready = [a for a in range(1, v + 1) if waits[a] == 0]
rounds = 0
while ready:
    rounds += 1
    following = []
    for a in ready:
        for b in after[a]:
            waits[b] -= 1
            if waits[b] == 0:
                following.append(b)
    ready = following
print(rounds)
""",
    ),
    # V rounds of raising each task above what it waits for: a path of V tasks given in falling
    # order needs them all, and no round ends early.
    "raise_until_stable": (
        "python",
        "V E + V",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
v, e = data[0], data[1]
level = [1] * (v + 1)
for _ in range(v):
    for i in range(2 + 2 * e - 2, 0, -2):
        a, b = data[i], data[i + 1]
        if level[b] < level[a] + 1:
            level[b] = level[a] + 1
print(max(level))
""",
    ),
}

WRONG = {
    # Counts what a task waits for directly.
    "most_dependencies": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
v, e = data[0], data[1]
waits = [0] * (v + 1)
for b in data[3::2]:
    waits[b] += 1
print(1 + max(waits))
""",
    ),
}

TRICKS = {
    # Knows the first lines of the tests.
    "by_first_line": (
        "hard-coded",
        "python",
        None,
        """
known = {"4 3": 3, "3 0": 1, "2 1": 2, "5 4": 2, "4 6": 4}
print(known.get(input().strip(), 0))
""",
    ),
}
