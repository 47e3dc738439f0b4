"""The largest sum of a stretch of consecutive values."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "A shop notes its profit on each of n days; losses are negative. Find the largest total "
    "over one or more consecutive days. Input: n, then n integers between -10^6 and 10^6. "
    "Output: the largest total."
)

CONSTRAINTS = {"n": 200_000}

SHAPES = ("random", "sorted", "reversed", "equal")

TESTS = (
    ("5\n-1 3 -2 5 -6\n", "6\n"),
    ("3\n-4 -2 -9\n", "-2\n"),
    ("1\n7\n", "7\n"),
    ("6\n1 2 3 -10 4 4\n", "8\n"),
    ("4\n0 0 0 0\n", "0\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(array(n, seed, shape, -(10**6), 10**6))}\n"


SOLUTIONS = {
    # One pass; each day updates the best total that ends on it in constant time.
    "running": (
        "python",
        "n",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
best = ending = values[0]
for x in values[1:]:
    ending = x if ending < 0 else ending + x
    if ending > best:
        best = ending
print(best)
""",
    ),
    # T(n) = 2 T(n/2) + O(n): the middle stretch is found by one walk to each side.
    "halves": (
        "python",
        "n log n",
        """
import sys


def solve(a, lo, hi):
    if hi - lo == 1:
        return a[lo]
    mid = (lo + hi) // 2
    best = max(solve(a, lo, mid), solve(a, mid, hi))
    left = total = a[mid - 1]
    for i in range(mid - 2, lo - 1, -1):
        total += a[i]
        if total > left:
            left = total
    right = total = a[mid]
    for i in range(mid + 1, hi):
        total += a[i]
        if total > right:
            right = total
    return max(best, left + right)


values = list(map(int, sys.stdin.read().split()))[1:]
print(solve(values, 0, len(values)))
""",
    ),
    # For each start the end runs to the end of the list, with a running total.
    "all_starts": (
        "python",
        "n^2",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
best = values[0]
for i in range(len(values)):
    total = 0
    for j in range(i, len(values)):
        total += values[j]
        if total > best:
            best = total
print(best)
""",
    ),
    # n (n + 1) / 2 stretches, each summed anew in O(n).
    "sum_each": (
        "python",
        "n^3",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
n = len(values)
best = values[0]
for i in range(n):
    for j in range(i, n):
        total = 0
        for t in range(i, j + 1):
            total += values[t]
        if total > best:
            best = total
print(best)
""",
    ),
    # The same pass in C++.
    "running_cpp": (
        "cpp",
        "n",
        r"""
#include <algorithm>
#include <iostream>
int main() {
    std::ios::sync_with_stdio(false);
    std::cin.tie(nullptr);
    int n;
    std::cin >> n;
    long long best = -4000000000000LL, ending = 0;
    for (int i = 0; i < n; i++) {
        long long x;
        std::cin >> x;
        ending = ending < 0 ? x : ending + x;
        best = std::max(best, ending);
    }
    std::cout << best << "\n";
}
""",
    ),
    # Every start runs to the end, as in Python.
    "all_starts_cpp": (
        "cpp",
        "n^2",
        r"""
#include <algorithm>
#include <cstdio>
#include <vector>
int main() {
    int n;
    if (scanf("%d", &n) != 1) return 1;
    std::vector<int> a(n);
    for (int &x : a) if (scanf("%d", &x) != 1) return 1;
    long long best = a[0];
    for (int i = 0; i < n; i++) {
        long long total = 0;
        for (int j = i; j < n; j++) {
            total += a[j];
            best = std::max(best, total);
        }
    }
    printf("%lld\n", best);
}
""",
    ),
}

WRONG = {
    # Starts from 0, so it answers 0 when every day is a loss.
    "empty_allowed": (
        "python",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
best = ending = 0
for x in values:
    ending = max(0, ending + x)
    best = max(best, ending)
print(best)
""",
    ),
}

TRICKS = {
    # Linear up to 400 values, all starts above: the growth that counts is that of large input.
    "quick_when_small": (
        "size-switch",
        "python",
        "n^2",
        """
import sys

values = list(map(int, sys.stdin.read().split()))[1:]
n = len(values)
best = values[0]
if n <= 400:
    ending = values[0]
    for x in values[1:]:
        ending = max(x, ending + x)
        best = max(best, ending)
else:
    for i in range(n):
        total = 0
        for j in range(i, n):
            total += values[j]
            if total > best:
                best = total
print(best)
""",
    ),
}
