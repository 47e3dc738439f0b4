"""The largest value in each window."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "Add up the largest values of all stretches of k consecutive values. Input: n and k (1 <= k "
    "<= n), then n integers (0 to 10^6). Output: the sum over the n - k + 1 stretches."
)

CONSTRAINTS = {"n": 200_000, "k": 200_000}

SHAPES = ("random", "reversed", "sorted")

RELATIONS = (("k", "n"),)

TESTS = (
    ("5 2\n1 3 2 5 4\n", "16\n"),
    ("1 1\n4\n", "4\n"),
    ("4 4\n4 3 2 1\n", "4\n"),
    ("6 3\n1 2 3 3 2 1\n", "12\n"),
    ("3 1\n5 6 7\n", "18\n"),
)


def generate(n: int, k: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n} {k}\n{join(array(n, seed, shape, 0, 10**6))}\n"


SOLUTIONS = {
    # Each position enters and leaves the deque once.
    "deque": (
        "python",
        "n",
        """
import sys
from collections import deque

data = list(map(int, sys.stdin.read().split()))
k, values = data[1], data[2:]
kept = deque()
total = 0
for i, x in enumerate(values):
    while kept and values[kept[-1]] <= x:
        kept.pop()
    kept.append(i)
    if kept[0] <= i - k:
        kept.popleft()
    if i >= k - 1:
        total += values[kept[0]]
print(total)
""",
    ),
    # Every position is pushed; old ones are popped when they come to the top, at most once
    # each. On rising input nothing leaves before the end, so the heap holds up to n.
    "lazy_heap": (
        "python",
        "n log n",
        """
import heapq
import sys

data = list(map(int, sys.stdin.read().split()))
k, values = data[1], data[2:]
heap = []
total = 0
for i, x in enumerate(values):
    heapq.heappush(heap, (-x, i))
    if i >= k - 1:
        while heap[0][1] <= i - k:
            heapq.heappop(heap)
        total -= heap[0][0]
print(total)
""",
    ),
}

WRONG = {
    # Takes the last value of each window.
    "last_of_window": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
print(sum(data[1 + data[1] :]))
""",
    ),
}

TRICKS = {
    # Looks at whole windows, but only while they have at most 8 values: 8 n steps at most; else
    # the deque.
    "rescan_when_long": (
        "size-switch",
        "python",
        "n",
        """
import sys
from collections import deque

data = list(map(int, sys.stdin.read().split()))
k, values = data[1], data[2:]
total = 0
if k <= 8:
    for i in range(len(values) - k + 1):
        best = values[i]
        for j in range(i, i + k):
            if values[j] > best:
                best = values[j]
        total += best
else:
    kept = deque()
    for i, x in enumerate(values):
        while kept and values[kept[-1]] <= x:
            kept.pop()
        kept.append(i)
        if kept[0] <= i - k:
            kept.popleft()
        if i >= k - 1:
            total += values[kept[0]]
print(total)
""",
    ),
}
