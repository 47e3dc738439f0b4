"""The last one left when every third leaves a circle."""

from __future__ import annotations

STATEMENT = (
    "n children stand in a circle, numbered 1 to n. Counting from child 1, every third child "
    "still there leaves. Which child is left last? Input: n (1 to 10^6). Output: its number."
)

CONSTRAINTS = {"n": 1_000_000}

SHAPES = ("exact", "odd")

TESTS = (
    ("5\n", "4\n"),
    ("1\n", "1\n"),
    ("2\n", "2\n"),
    ("10\n", "4\n"),
    ("41\n", "31\n"),
)


def generate(n: int, seed: int, shape: str = "exact") -> str:
    """Fresh stdin of these sizes."""
    return f"{n if shape == 'exact' else n | 1}\n"


SOLUTIONS = {
    # One remainder for each size of the circle.
    "recurrence": (
        "python",
        "n",
        """
n = int(input())
place = 0
for size in range(2, n + 1):
    place = (place + 3) % size
print(place + 1)
""",
    ),
    # A tree of counts finds and removes the k-th child left in log n; n times.
    "tree_of_counts": (
        "python",
        "n log n",
        """
n = int(input())
size = 1
while size < n:
    size *= 2
count = [0] * (2 * size)
for i in range(n):
    count[size + i] = 1
for i in range(size - 1, 0, -1):
    count[i] = count[2 * i] + count[2 * i + 1]
place = 0
last = 0
for left in range(n, 0, -1):
    place = (place + 2) % left
    k, node = place, 1
    while node < size:
        count[node] -= 1
        node *= 2
        if count[node] <= k:
            k -= count[node]
            node += 1
    count[node] = 0
    last = node - size + 1
print(last)
""",
    ),
    # After each child that leaves, the circle is written down anew: n + (n - 1) + ... steps.
    "rebuild": (
        "python",
        "n^2",
        """
n = int(input())
circle = list(range(1, n + 1))
place = 0
while len(circle) > 1:
    place = (place + 2) % len(circle)
    rest = []
    for i in range(len(circle)):
        if i != place:
            rest.append(circle[i])
    circle = rest
print(circle[0])
""",
    ),
}

WRONG = {
    # Every second child leaves.
    "every_second": (
        "python",
        """
n = int(input())
place = 0
for size in range(2, n + 1):
    place = (place + 2) % size
print(place + 1 if n > 1 else 0)
""",
    ),
}

TRICKS = {
    # The recurrence is computed from the start for every size.
    "claims_recurrence": (
        "lying-comment",
        "python",
        "n^2",
        """
n = int(input())


def winner(k):
    # O(1) recurrence
    place = 0
    for size in range(2, k + 1):
        place = (place + 3) % size
    return place


answers = [winner(k) for k in range(1, n + 1)]
print(answers[-1] + 1)
""",
    ),
}
