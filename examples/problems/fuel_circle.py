"""Where to start on a circular road with filling stations."""

from __future__ import annotations

from examples.problems.shapes import array

STATEMENT = (
    "n stations stand along a circular road; station i gives g_i litres, and the way to the "
    "next one takes c_i litres. Print the first station from which a car with an empty tank "
    "gets all the way round, or 0 if there is none. Input: n, then n lines g_i c_i (0 to 1000). "
    "Output: the station's number or 0."
)

CONSTRAINTS = {"n": 100_000}

SHAPES = ("random", "equal", "falling", "last")

TESTS = (
    ("3\n1 2\n3 1\n2 3\n", "2\n"),
    ("1\n5 5\n", "1\n"),
    ("2\n1 2\n2 2\n", "0\n"),
    ("4\n0 1\n0 1\n0 1\n5 1\n", "4\n"),
    ("3\n4 1\n0 1\n0 1\n", "1\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    give = array(n, seed, "random" if shape != "equal" else "equal", 0, 1000)
    take = array(n, seed + 1, "random" if shape != "equal" else "equal", 0, 1000)
    if shape == "falling":
        give, take = [2] * (n // 2) + [0] * (n - n // 2), [1] * n
    if shape == "last":
        give, take = [1] * (n - 1) + [0], [1] * n
    return f"{n}\n" + "".join(f"{g} {c}\n" for g, c in zip(give, take, strict=True))


SOLUTIONS = {
    # A start that fails rules out all stations up to where it fails.
    "one_round": (
        "python",
        "n",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
tank = total = 0
start = 1
for i in range(data[0]):
    gain = data[1 + 2 * i] - data[2 + 2 * i]
    tank += gain
    total += gain
    if tank < 0:
        start = i + 2
        tank = 0
print(start if total >= 0 else 0)
""",
    ),
    # Every start drives until the tank is empty; stations that give as much as they take, but
    # for the last, let each start drive to the end.
    "try_each": (
        "python",
        "n^2",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n = data[0]
answer = 0
for s in range(n):
    tank = 0
    for step in range(n):
        i = (s + step) % n
        tank += data[1 + 2 * i] - data[2 + 2 * i]
        if tank < 0:
            break
    if tank >= 0:
        answer = s + 1
        break
print(answer)
""",
    ),
}

WRONG = {
    # Starts where most is gained.
    "largest_gain": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
gains = [g - c for g, c in zip(data[1::2], data[2::2])]
print(len(gains) - gains[::-1].index(max(gains)) if sum(gains) >= 0 else 1)
""",
    ),
}

TRICKS = {
    # On random roads a start fails after a few stations; on level roads after all of them.
    "gives_up_early": (
        "best-case",
        "python",
        "n^2",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
n = data[0]
gains = [data[1 + 2 * i] - data[2 + 2 * i] for i in range(n)]


def reaches(start):
    tank = 0
    for i in range(start, start + n):
        tank += gains[i % n]
        if tank < 0:
            return False
    return True


print(next((s + 1 for s in range(n) if reaches(s)), 0))
""",
    ),
}
