"""Sorted lists merged into one."""

from __future__ import annotations

import random

STATEMENT = (
    "k sorted lists hold n numbers in all. Merge them into one sorted list x_1 ... x_n and "
    "print the sum of i * x_i modulo 10^9 + 7. Input: n and k (1 <= k <= n), then n lines value "
    "list, each list's numbers (0 to 10^9) in rising order. Output: the remainder."
)

CONSTRAINTS = {"n": 200_000, "k": 200_000}

SHAPES = ("random", "round_robin")

RELATIONS = (("k", "n"),)

TESTS = (
    ("4 2\n1 1\n3 1\n2 2\n4 2\n", "30\n"),
    ("1 1\n7 1\n", "7\n"),
    ("3 3\n5 1\n4 2\n3 3\n", "26\n"),
    ("5 2\n1 1\n1 2\n2 1\n2 2\n9 1\n", "62\n"),
)


def generate(n: int, k: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    rng = random.Random(f"{seed} {n} {k} {shape}")
    values = sorted(rng.choices(range(10**9), k=n))
    owners = list(range(1, k + 1)) + rng.choices(range(1, k + 1), k=n - k)
    if shape == "random":
        rng.shuffle(owners)
    return f"{n} {k}\n" + "".join(f"{v} {o}\n" for v, o in zip(values, owners, strict=True))


SOLUTIONS = {
    # A heap of at most k heads; each of n numbers enters and leaves it once.
    "heap_of_heads": (
        "python",
        "n log k",
        """
import heapq
import sys

data = list(map(int, sys.stdin.read().split()))
n, k = data[0], data[1]
lists = [[] for _ in range(k)]
for i in range(2, 2 + 2 * n, 2):
    lists[data[i + 1] - 1].append(data[i])
heap = [(numbers[0], j) for j, numbers in enumerate(lists) if numbers]
heapq.heapify(heap)
at = [1] * k
total = place = 0
while heap:
    x, j = heap[0]
    place += 1
    total += place * x
    if at[j] < len(lists[j]):
        heapq.heapreplace(heap, (lists[j][at[j]], j))
        at[j] += 1
    else:
        heapq.heappop(heap)
print(total % 1000000007)
""",
    ),
    # For each of n numbers all k heads are compared.
    "smallest_head": (
        "python",
        "n k",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n, k = data[0], data[1]
lists = [[] for _ in range(k)]
for i in range(2, 2 + 2 * n, 2):
    lists[data[i + 1] - 1].append(data[i])
at = [0] * k
total = 0
for place in range(1, n + 1):
    best = -1
    for j in range(k):
        if at[j] < len(lists[j]) and (best < 0 or lists[j][at[j]] < lists[best][at[best]]):
            best = j
    total += place * lists[best][at[best]]
    at[best] += 1
print(total % 1000000007)
""",
    ),
}

WRONG = {
    # Does not merge.
    "list_after_list": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
rows = sorted(zip(data[3::2], data[2::2]))
print(sum((i + 1) * x for i, (_, x) in enumerate(rows)) % 1000000007 + (len(rows) == 1))
""",
    ),
}

TRICKS = {
    # The "heap" is a list whose minimum is searched.
    "claims_heap": (
        "lying-comment",
        "python",
        "n k",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n, k = data[0], data[1]
lists = [[] for _ in range(k)]
for i in range(2 * n, 0, -2):
    lists[data[i + 1] - 1].append(data[i])
heap = [numbers.pop() if numbers else 10**10 for numbers in lists]
total = 0
for place in range(1, n + 1):
    # pop from a binary heap: O(log k)
    j = 0
    for other in range(k):
        if heap[other] < heap[j]:
            j = other
    total += place * heap[j]
    heap[j] = lists[j].pop() if lists[j] else 10**10
print(total % 1000000007)
""",
    ),
}
