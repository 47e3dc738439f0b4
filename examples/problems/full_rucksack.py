"""The most valuable load of bounded weight."""

from __future__ import annotations

from examples.problems.shapes import array

STATEMENT = (
    "n things have a weight and a value; a rucksack carries weight k. Find the largest total "
    "value it can carry, each thing at most once. Input: n and k, then n lines weight value (1 "
    "to 1000 each). Output: the value."
)

CONSTRAINTS = {"n": 1_000, "k": 20_000}

SHAPES = ("random", "equal")

TESTS = (
    ("3 5\n2 3\n3 4\n4 6\n", "7\n"),
    ("1 1\n2 10\n", "0\n"),
    ("2 10\n5 5\n5 5\n", "10\n"),
    ("4 7\n3 4\n4 5\n5 8\n2 1\n", "9\n"),
    ("1 3\n3 9\n", "9\n"),
    ("3 10\n6 7\n5 5\n5 5\n", "10\n"),
)


def generate(n: int, k: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    things = zip(array(n, seed, shape, 1, 12), array(n, seed + 1, shape, 1, 1000), strict=True)
    return f"{n} {k}\n" + "".join(f"{w} {v}\n" for w, v in things)


SOLUTIONS = {
    # For each of n things one pass over k weights.
    "by_weight": (
        "python",
        "n k",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n, k = data[0], data[1]
best = [0] * (k + 1)
for i in range(n):
    w, v = data[2 + 2 * i], data[3 + 2 * i]
    for room in range(k, w - 1, -1):
        if best[room - w] + v > best[room]:
            best[room] = best[room - w] + v
print(best[k])
""",
    ),
    # Every thing is taken or left: 2^n leaves. The unused row of k zeros is made all the same.
    "all_sets": (
        "python",
        "k + 2^n",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n, k = data[0], data[1]
row = [0 for _ in range(k)]


def best(i, room):
    if i == n:
        return 0
    skip = best(i + 1, room)
    take = best(i + 1, room - data[2 + 2 * i])
    if room >= data[2 + 2 * i]:
        return max(skip, take + data[3 + 2 * i])
    return skip


print(best(0, k))
""",
    ),
}

WRONG = {
    # Takes things greedily by value per weight.
    "best_ratio_first": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n, k = data[0], data[1]
things = sorted(zip(data[2::2], data[3::2]), key=lambda t: -t[1] / t[0])
total = 0
for w, v in things:
    if w <= k:
        k -= w
        total += v
print(total)
""",
    ),
}

TRICKS = {
    # Says greedy and linear; is the table.
    "claims_greedy": (
        "lying-comment",
        "python",
        "n k",
        """
import sys

# Greedy by density: O(n)
data = list(map(int, sys.stdin.read().split()))
n, k = data[0], data[1]
greedy = [0] * (k + 1)
for i in range(n):
    w, v = data[2 + 2 * i], data[3 + 2 * i]
    greedy = [
        max(greedy[r], greedy[r - w] + v) if r >= w else greedy[r] for r in range(k + 1)
    ]
print(greedy[k])
""",
    ),
}
