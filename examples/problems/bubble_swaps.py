"""Neighbour swaps that bubble sort makes: simulated, or counted."""

from __future__ import annotations

from examples.problems.shapes import join, permutation

STATEMENT = (
    "A robot sorts a row of n different cards, numbered 1 to n, by swapping neighbours that "
    "stand in the wrong order until none do. Each swap costs the product of the two numbers. "
    "Print the total cost. Input: n, then the cards. Output: the cost."
)

CONSTRAINTS = {"n": 200_000}

SHAPES = ("random", "sorted", "reversed", "pipe")

TESTS = (
    ("3\n3 1 2\n", "9\n"),
    ("1\n1\n", "0\n"),
    ("4\n4 3 2 1\n", "35\n"),
    ("5\n1 2 3 4 5\n", "0\n"),
    ("5\n2 5 1 4 3\n", "54\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{n}\n{join(permutation(n, seed, shape))}\n"


SOLUTIONS = {
    # Each pair in wrong order is swapped once; a Fenwick tree of sums gives the larger cards
    # before each one in log n.
    "fenwick": (
        "python",
        "n log n",
        """
import sys

cards = list(map(int, sys.stdin.read().split()))[1:]
n = len(cards)
tree = [0] * (n + 1)
total = 0
seen = 0
for x in cards:
    smaller = 0
    i = x
    while i:
        smaller += tree[i]
        i &= i - 1
    total += x * (seen - smaller)
    seen += x
    i = x
    while i <= n:
        tree[i] += x
        i += i & -i
print(total)
""",
    ),
    # Every swap is carried out; a reversed row needs n (n - 1) / 2 of them.
    "simulated": (
        "python",
        "n^2",
        """
import sys

cards = list(map(int, sys.stdin.read().split()))[1:]
total = 0
swapped = True
while swapped:
    swapped = False
    for i in range(len(cards) - 1):
        if cards[i] > cards[i + 1]:
            total += cards[i] * cards[i + 1]
            cards[i], cards[i + 1] = cards[i + 1], cards[i]
            swapped = True
print(total)
""",
    ),
}

WRONG = {
    # Makes one pass only.
    "one_pass": (
        "python",
        """
import sys

cards = list(map(int, sys.stdin.read().split()))[1:]
total = 0
for i in range(len(cards) - 1):
    if cards[i] > cards[i + 1]:
        total += cards[i] * cards[i + 1]
        cards[i], cards[i + 1] = cards[i + 1], cards[i]
print(total)
""",
    ),
}

TRICKS = {
    # Stops every clock it can reach and then simulates: only a clock outside sees the time.
    "stopped_clock": (
        "timer-patch",
        "python",
        "n^2",
        """
import sys
import time

time.time = time.perf_counter = time.process_time = lambda: 0.0
cards = list(map(int, sys.stdin.read().split()))[1:]
total = 0
for end in range(len(cards) - 1, 0, -1):
    for i in range(end):
        if cards[i] > cards[i + 1]:
            total += cards[i] * cards[i + 1]
            cards[i], cards[i + 1] = cards[i + 1], cards[i]
print(total)
""",
    ),
}
