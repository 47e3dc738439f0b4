"""Shortest distances by road."""

from __future__ import annotations

import random

from examples.problems.shapes import graph

STATEMENT = (
    "V towns are joined by E roads with lengths. Print the sum of the shortest distances from "
    "town 1 to all towns that can be reached. Input: V and E, then E lines a b length (1 to "
    "1000). Output: the sum."
)

CONSTRAINTS = {"V": 20_000, "E": 100_000}

SHAPES = ("random", "layers")

TESTS = (
    ("3 3\n1 2 4\n2 3 1\n1 3 7\n", "9\n"),
    ("2 0\n", "0\n"),
    ("2 2\n1 2 5\n1 2 3\n", "3\n"),
    ("4 3\n1 2 1\n2 3 1\n3 4 1\n", "6\n"),
    ("5 4\n1 2 10\n1 3 1\n3 2 1\n4 5 1\n", "3\n"),
)


def generate(V: int, E: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    rng = random.Random(f"{seed} {V} {E}")
    lines = [f"{a} {b} {rng.randint(1, 1000)}\n" for a, b in graph(V, E, seed, shape)]
    return f"{V} {len(lines)}\n" + "".join(lines)


SOLUTIONS = {
    # Dijkstra with a lazy heap: V towns and up to E candidates (parallel roads are allowed)
    # pass through it, log of its size each.
    "heap": (
        "python",
        "V log V + E log E",
        """
import heapq
import sys

data = list(map(int, sys.stdin.read().split()))
v, e = data[0], data[1]
near = [[] for _ in range(v + 1)]
for i in range(2, 2 + 3 * e, 3):
    a, b, c = data[i : i + 3]
    near[a].append((b, c))
    near[b].append((a, c))
far = [-1] * (v + 1)
heap = [(0, 1)]
for a in range(2, v + 1):
    heap.append((10**9, a))
total = 0
done = 0
while heap:
    d, a = heapq.heappop(heap)
    if far[a] >= 0 or d >= 10**9:
        continue
    far[a] = d
    total += d
    for b, c in near[a]:
        if far[b] < 0:
            heapq.heappush(heap, (d + c, b))
print(total)
""",
    ),
    # Dijkstra without a heap: V times the nearest of V towns is searched.
    "scan_for_nearest": (
        "python",
        "V^2 + E",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
v, e = data[0], data[1]
near = [[] for _ in range(v + 1)]
for i in range(2, 2 + 3 * e, 3):
    a, b, c = data[i : i + 3]
    near[a].append((b, c))
    near[b].append((a, c))
far = [10**9] * (v + 1)
far[1] = 0
done = [False] * (v + 1)
for _ in range(v):
    a = 0
    for x in range(1, v + 1):
        if not done[x] and (a == 0 or far[x] < far[a]):
            a = x
    done[a] = True
    for b, c in near[a]:
        if far[a] + c < far[b]:
            far[b] = far[a] + c
print(sum(d for d in far[1:] if d < 10**9))
""",
    ),
    # V rounds over all E roads, without an early end.
    "every_edge_every_round": (
        "python",
        "V E + V",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
v, e = data[0], data[1]
far = [10**9] * (v + 1)
far[1] = 0
for _ in range(v):
    for i in range(2, 2 + 3 * e, 3):
        a, b, c = data[i], data[i + 1], data[i + 2]
        if far[a] + c < far[b]:
            far[b] = far[a] + c
        if far[b] + c < far[a]:
            far[a] = far[b] + c
print(sum(d for d in far[1:] if d < 10**9))
""",
    ),
}

WRONG = {
    # Counts roads, not lengths.
    "fewest_roads": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
v, e = data[0], data[1]
far = [10**9] * (v + 1)
far[1] = 0
for _ in range(v):
    for i in range(2, 2 + 3 * e, 3):
        a, b = data[i], data[i + 1]
        far[b] = min(far[b], far[a] + 1)
        far[a] = min(far[a], far[b] + 1)
print(sum(d for d in far[1:] if d < 10**9))
""",
    ),
}

TRICKS = {
    # Says Dijkstra; relaxes everything V times.
    "claims_dijkstra": (
        "lying-comment",
        "python",
        "V E + V",
        """
import sys

# Dijkstra with a binary heap: O(E log V)
data = list(map(int, sys.stdin.read().split()))
v, e = data[0], data[1]
heap = [0 if x == 1 else 10**9 for x in range(v + 1)]
for pop in range(v):
    for i in range(2, 2 + 3 * e, 3):
        a, b, c = data[i], data[i + 1], data[i + 2]
        heap[b] = min(heap[b], heap[a] + c)
        heap[a] = min(heap[a], heap[b] + c)
print(sum(d for d in heap[1:] if d < 10**9))
""",
    ),
}
