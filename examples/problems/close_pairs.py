"""Before and after: pairs at most k apart, by binary search, or by two pointers."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "n houses stand along a road; their positions are given in rising order. Count the pairs of "
    "houses at most k apart. Input: n and k, then the positions (0 to 10^9) in rising order. "
    "Output: the number of pairs."
)

CONSTRAINTS = {"n": 300_000}

SHAPES = ("random", "equal")

TESTS = (
    ("4 3\n1 3 6 7\n", "3\n"),
    ("1 5\n0\n", "0\n"),
    ("3 0\n2 2 2\n", "3\n"),
    ("5 100\n1 2 3 4 5\n", "10\n"),
    ("3 1\n0 5 10\n", "0\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    values = sorted(array(n, seed, shape))
    return f"{n} {10**8}\n{join(values)}\n"


SOLUTIONS = {
    # The left pointer only moves forward, at most n times in all.
    "two_pointers": (
        "python",
        "n",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
k, houses = data[1], data[2:]
left = total = 0
for right in range(len(houses)):
    while houses[right] - houses[left] > k:
        left += 1
    total += right - left
print(total)
""",
    ),
    # One binary search a house, about log2 n steps each.
    "binary_search": (
        "python",
        "n log n",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
k, houses = data[1], data[2:]
total = 0
for i in range(len(houses)):
    lo, hi = 0, i
    while lo < hi:
        mid = (lo + hi) // 2
        if houses[i] - houses[mid] > k:
            lo = mid + 1
        else:
            hi = mid
    total += i - lo
print(total)
""",
    ),
    # Looks at every earlier house.
    "scan_back": (
        "python",
        "n^2",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
k, houses = data[1], data[2:]
total = 0
for i in range(len(houses)):
    for j in range(i):
        if houses[i] - houses[j] <= k:
            total += 1
print(total)
""",
    ),
}

WRONG = {
    # Leaves out pairs exactly k apart.
    "strictly_closer": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
k, houses = data[1], data[2:]
print(sum(houses[i] - houses[j] < k for i in range(len(houses)) for j in range(i)))
""",
    ),
}

TRICKS = {
    # The pointer is thrown back to the front for each house and found again by halving.
    "claims_pointers": (
        "lying-comment",
        "python",
        "n log n",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
k, houses = data[1], data[2:]
total = 0
for right in range(len(houses)):
    # two pointers: left never moves back, O(n)
    left = 0
    step = 1 << len(houses).bit_length()
    while step:
        if left + step <= right and houses[right] - houses[left + step - 1] > k:
            left += step
        step >>= 1
    total += right - left
print(total)
""",
    ),
}
