"""Whether two words have the same letters."""

from __future__ import annotations

from examples.problems.shapes import text

STATEMENT = (
    "Print yes if one word is a rearrangement of the other, else no. Input: two lines, each a "
    "word of n lower-case letters. Output: yes or no."
)

CONSTRAINTS = {"n": 200_000}

SHAPES = ("random", "sorted", "equal")

TESTS = (
    ("listen\nsilent\n", "yes\n"),
    ("a\nb\n", "no\n"),
    ("aab\nabb\n", "no\n"),
    ("xyz\nzyx\n", "yes\n"),
    ("aa\naa\n", "yes\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    word = text(n, seed, shape)
    return f"{word}\n{word[::-1]}\n"


SOLUTIONS = {
    # 26 counters up, then down.
    "count_letters": (
        "python",
        "n",
        """
count = {}
for c in input().strip():
    count[c] = count.get(c, 0) + 1
for c in input().strip():
    count[c] = count.get(c, 0) - 1
print("yes" if not any(count.values()) else "no")
""",
    ),
    # Both words are put into heaps and taken out in order.
    "sort_both": (
        "python",
        "n log n",
        """
import heapq

a = list(input().strip())
b = list(input().strip())
heapq.heapify(a)
heapq.heapify(b)
same = True
while a and b:
    if heapq.heappop(a) != heapq.heappop(b):
        same = False
print("yes" if same else "no")
""",
    ),
    # Each letter is searched among those not yet crossed out. Equal or reversed words make it
    # go far.
    "cross_out": (
        "python",
        "n^2",
        """
a = input().strip()
b = input().strip()
crossed = [False] * len(b)
same = True
for c in a:
    found = -1
    for i in range(len(b)):
        if not crossed[i] and b[i] == c and found < 0:
            found = i
    if found < 0:
        same = False
        break
    crossed[found] = True
print("yes" if same else "no")
""",
    ),
}

WRONG = {
    # Compares the sets of letters.
    "same_set": (
        "python",
        """
print("yes" if set(input().strip()) == set(input().strip()) else "no")
""",
    ),
}

TRICKS = {
    # A list of pairs plays the hash table; with few letters it is short, but each count is made
    # by going over the word.
    "claims_hash": (
        "lying-comment",
        "python",
        "n^2",
        """
a = input().strip()
b = input().strip()
hash_table = []  # O(1) counters
for place in range(len(a)):
    up = down = 0
    for i in range(len(a)):
        up += a[i] == a[place]
    for i in range(len(b)):
        down += b[i] == a[place]
    hash_table.append(up == down)
print("yes" if all(hash_table) else "no")
""",
    ),
}
