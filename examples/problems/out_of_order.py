"""Pairs of positions whose values stand in the wrong order."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "Count the pairs i < j with a_i > a_j. Input: n, then n integers (0 to 10^9). Output: the "
    "number of pairs."
)

CONSTRAINTS = {"n": 200_000}

SHAPES = ("random", "sorted", "reversed", "equal")

TESTS = (
    ("5\n5 1 4 2 3\n", "6\n"),
    ("3\n1 2 3\n", "0\n"),
    ("4\n4 3 2 1\n", "6\n"),
    ("1\n9\n", "0\n"),
    ("6\n2 2 1 1 3 3\n", "4\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape))}\n"


SOLUTIONS = {
    # Merge sort: T(n) = 2 T(n/2) + O(n); pairs are counted while merging.
    "merging": (
        "python",
        "n log n",
        """
import sys


def sort(a):
    if len(a) < 2:
        return a, 0
    mid = len(a) // 2
    left, x = sort(a[:mid])
    right, y = sort(a[mid:])
    merged = []
    i = j = 0
    total = x + y
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
            total += len(left) - i
    return merged + left[i:] + right[j:], total


print(sort(list(map(int, sys.stdin.read().split()))[1:])[1])
""",
    ),
    # Sorting gives ranks; then n updates and n queries of a Fenwick tree, log n each.
    "ranks": (
        "python",
        "n log n",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
rank = {x: i + 1 for i, x in enumerate(sorted(set(values)))}
size = len(rank)
tree = [0] * (size + 1)
total = 0
for seen, x in enumerate(values):
    i = rank[x]
    total += seen
    while i:
        total -= tree[i]
        i &= i - 1
    i = rank[x]
    while i <= size:
        tree[i] += 1
        i += i & -i
print(total)
""",
    ),
    # Every pair is looked at: n (n - 1) / 2 steps.
    "both_loops": (
        "python",
        "n^2",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
n = len(values)
total = 0
for i in range(n):
    for j in range(i + 1, n):
        if values[i] > values[j]:
            total += 1
print(total)
""",
    ),
    # Every pair, in C++.
    "both_loops_cpp": (
        "cpp",
        "n^2",
        r"""
#include <cstdio>
#include <vector>
int main() {
    int n;
    if (scanf("%d", &n) != 1) return 1;
    std::vector<int> a(n);
    for (int &x : a) if (scanf("%d", &x) != 1) return 1;
    long long total = 0;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) total += a[i] > a[j];
    printf("%lld\n", total);
}
""",
    ),
}

WRONG = {
    # Looks at neighbours only.
    "neighbours": (
        "python",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
print(sum(a > b for a, b in zip(values, values[1:])))
""",
    ),
}

TRICKS = {
    # Insertion sort moves each value past all larger ones: linear on sorted input, n^2 / 2 on
    # reversed.
    "insertion": (
        "best-case",
        "python",
        "n^2",
        """
import sys

a = list(map(int, sys.stdin.read().split()))[1:]
total = 0
for i in range(1, len(a)):
    j = i
    while j and a[j - 1] > a[j]:
        a[j - 1], a[j] = a[j], a[j - 1]
        j -= 1
        total += 1
print(total)
""",
    ),
}
