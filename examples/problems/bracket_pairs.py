"""Whether brackets match."""

from __future__ import annotations

import random

STATEMENT = (
    "A line of 2n round brackets is balanced if every opening one has its closing one after it. "
    "Print the deepest nesting if it is balanced, else -1. Input: the line. Output: the depth "
    "or -1."
)

CONSTRAINTS = {"n": 200_000}

SHAPES = ("nested", "flat", "random")

TESTS = (
    ("(())()\n", "2\n"),
    ("()\n", "1\n"),
    (")(\n", "-1\n"),
    ("((()))\n", "3\n"),
    ("(()\n", "-1\n"),
    ("()()()()\n", "1\n"),
)


def generate(n: int, seed: int, shape: str = "nested") -> str:
    """Fresh stdin of these sizes."""
    if shape == "nested":
        return "(" * n + ")" * n + "\n"
    if shape == "flat":
        return "()" * n + "\n"
    return "".join(random.Random(f"{seed} {n}").choices("()", k=2 * n)) + "\n"


SOLUTIONS = {
    # One counter.
    "depth": (
        "python",
        "n",
        """
depth = deepest = 0
for c in input().strip():
    depth += 1 if c == "(" else -1
    if depth < 0:
        break
    deepest = max(deepest, depth)
print(deepest if depth == 0 else -1)
""",
    ),
    # Each round removes all innermost pairs and rebuilds the line; n nested brackets need n
    # rounds.
    "peel": (
        "python",
        "n^2",
        """
line = input().strip()
rounds = 0
while line:
    left = []
    i = 0
    while i < len(line):
        if line[i] == "(" and i + 1 < len(line) and line[i + 1] == ")":
            i += 2
        else:
            left.append(line[i])
            i += 1
    if len(left) == len(line):
        break
    line = "".join(left)
    rounds += 1
print(-1 if line else rounds)
""",
    ),
}

WRONG = {
    # Compares the numbers of both brackets.
    "equal_numbers": (
        "python",
        """
line = input().strip()
print(line.count("(") if line.count("(") == line.count(")") else -1)
""",
    ),
}

TRICKS = {
    # The depth is counted anew at every bracket.
    "claims_counter": (
        "lying-comment",
        "python",
        "n^2",
        """
line = input().strip()
deepest = 0
good = line.count("(") == line.count(")")
# running counter: O(n)
for i in range(len(line)):
    depth = 0
    for c in range(i + 1):
        depth += 1 if line[c] == "(" else -1
    if depth < 0:
        good = False
    deepest = max(deepest, depth)
print(deepest if good else -1)
""",
    ),
}
