"""The k-th smallest of n values."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "Print the k smallest of n integers added up. Input: n and k (1 <= k <= n), then the "
    "integers (0 to 10^9). Output: the sum of the k smallest."
)

CONSTRAINTS = {"n": 200_000, "k": 200_000}

SHAPES = ("random", "reversed", "sorted")

RELATIONS = (("k", "n"),)

TESTS = (
    ("5 2\n5 1 4 2 3\n", "3\n"),
    ("1 1\n9\n", "9\n"),
    ("4 4\n1 1 2 2\n", "6\n"),
    ("6 3\n10 20 30 5 15 25\n", "30\n"),
    ("3 1\n7 7 7\n", "7\n"),
)


def generate(n: int, k: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n} {k}\n{join(array(n, seed, shape))}\n"


SOLUTIONS = {
    # A heap of the k smallest so far: each of n values may replace its top in log k (falling
    # input makes each do so).
    "bounded_heap": (
        "python",
        "n log k",
        """
import heapq
import sys

data = list(map(int, sys.stdin.read().split()))
k, values = data[1], data[2:]
heap = []
for x in values:
    if len(heap) < k:
        heapq.heappush(heap, -x)
    elif -heap[0] > x:
        heapq.heapreplace(heap, -x)
print(-sum(heap))
""",
    ),
    # The smallest that is left is searched k times in n values.
    "pick_k_times": (
        "python",
        "n k",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
k, values = data[1], data[2:]
taken = [False] * len(values)
total = 0
for _ in range(k):
    best = -1
    for i in range(len(values)):
        if not taken[i] and (best < 0 or values[i] < values[best]):
            best = i
    taken[best] = True
    total += values[best]
print(total)
""",
    ),
}

WRONG = {
    # Adds the first k.
    "the_first_k": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
print(sum(data[2 : 2 + data[1]]))
""",
    ),
}

TRICKS = {
    # The "heap" is a sorted list into which each value walks: k steps for each of n values on
    # falling input.
    "claims_heap": (
        "lying-comment",
        "python",
        "n k",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
k, values = data[1], data[2:]
heap = []  # binary heap of the k smallest, O(n log k)
for x in values:
    if len(heap) == k and heap[-1] <= x:
        continue
    if len(heap) == k:
        heap.pop()
    heap.append(x)
    i = len(heap) - 1
    while i and heap[i - 1] > heap[i]:
        heap[i - 1], heap[i] = heap[i], heap[i - 1]
        i -= 1
print(sum(heap))
""",
    ),
}
