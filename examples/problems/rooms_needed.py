"""How many rooms meetings need."""

from __future__ import annotations

from examples.problems.shapes import array

STATEMENT = (
    "n meetings last from minute s_i up to, but not including, minute e_i. How many rooms are "
    "needed at least? Input: n, then n lines s_i e_i (0 to 10^9, s_i < e_i). Output: the number "
    "of rooms."
)

CONSTRAINTS = {"n": 200_000}

SHAPES = ("random", "sorted", "reversed", "equal")

TESTS = (
    ("3\n0 10\n5 15\n10 20\n", "2\n"),
    ("1\n3 4\n", "1\n"),
    ("3\n0 1\n0 1\n0 1\n", "3\n"),
    ("4\n0 100\n1 2\n3 4\n5 6\n", "2\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    starts = array(n, seed, shape)
    return f"{n}\n" + "".join(f"{s} {s + 1 + s % 100_003}\n" for s in starts)


SOLUTIONS = {
    # 2n events are sorted.
    "events": (
        "python",
        "n log n",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
events = [(s, 1) for s in data[1::2]] + [(e, -1) for e in data[2::2]]
events.sort()
rooms = most = 0
for _, change in events:
    rooms += change
    if rooms > most:
        most = rooms
print(most)
""",
    ),
    # For each meeting all meetings that are on when it starts are counted.
    "ask_each": (
        "python",
        "n^2",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
starts, ends = data[1::2], data[2::2]
most = 0
for s in starts:
    rooms = 0
    for i in range(len(starts)):
        if starts[i] <= s < ends[i]:
            rooms += 1
    most = max(most, rooms)
print(most)
""",
    ),
}

WRONG = {
    # Needs another room when one starts as another ends.
    "touching_meetings": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
events = [(s, -1) for s in data[1::2]] + [(e, 1) for e in data[2::2]]
rooms = most = 0
for _, change in sorted(events):
    rooms -= change
    most = max(most, rooms)
print(most)
""",
    ),
}

TRICKS = {
    # Says sorted sweep; the events are placed by walking.
    "claims_sweep": (
        "lying-comment",
        "python",
        "n^2",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
line = []
# sweep line over sorted events: O(n log n)
for s, e in zip(data[1::2], data[2::2]):
    for event in ((s, 1), (e, -1)):
        line.append(event)
        i = len(line) - 1
        while i > 0 and line[i - 1] > line[i]:
            line[i - 1], line[i] = line[i], line[i - 1]
            i -= 1
rooms = most = 0
for _, change in line:
    rooms += change
    most = max(most, rooms)
print(most)
""",
    ),
}
