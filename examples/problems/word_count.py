"""How often a word stands in a text."""

from __future__ import annotations

from examples.problems.shapes import text

STATEMENT = (
    "Count the positions at which a word of m letters stands in a text of n letters, overlaps "
    "included. Input: the text, then the word (lower-case). Output: the number."
)

CONSTRAINTS = {"n": 200_000, "m": 200_000}

SHAPES = ("equal", "random")

RELATIONS = (("m", "n"),)

TESTS = (
    ("banana\nana\n", "2\n"),
    ("a\na\n", "1\n"),
    ("abc\nd\n", "0\n"),
    ("aaaa\naa\n", "3\n"),
    ("ab\nabc\n", "0\n"),
)


def generate(n: int, m: int, seed: int, shape: str = "equal") -> str:
    """Fresh stdin of these sizes."""
    word = text(m, seed + 1, shape, "ab")
    if shape == "equal":
        word = "a" * (m // 2) + "b" * (m - m // 2 > 0) + "a" * (m - m // 2 - 1)
    return f"{text(n, seed, shape, 'ab')}\n{word}\n"


SOLUTIONS = {
    # The border table moves back at most as often as forward.
    "borders": (
        "python",
        "n + m",
        """
s = input().strip()
w = input().strip()
border = [0] * (len(w) + 1)
k = 0
for i in range(1, len(w)):
    while k and w[i] != w[k]:
        k = border[k]
    if w[i] == w[k]:
        k += 1
    border[i + 1] = k
k = count = 0
for c in s:
    while k and (k == len(w) or c != w[k]):
        k = border[k]
    if c == w[k]:
        k += 1
    if k == len(w):
        count += 1
print(count)
""",
    ),
    # At each position up to m letters are compared; the word that differs in its middle makes
    # it m / 2.
    "letter_by_letter": (
        "python",
        "n m",
        """
s = input().strip()
w = input().strip()
count = 0
for i in range(len(s)):
    k = 0
    while k < len(w) and i + k < len(s) and s[i + k] == w[k]:
        k += 1
    if k == len(w):
        count += 1
print(count)
""",
    ),
}

WRONG = {
    # Leaves out occurrences that overlap.
    "no_overlaps": (
        "python",
        """
s = input().strip()
print(s.count(input().strip()))
""",
    ),
}

TRICKS = {
    # Stops at the first different letter: about 2 comparisons on random text, m / 2 on equal
    # letters.
    "differs_soon": (
        "best-case",
        "python",
        "n m",
        """
s = input().strip()
w = input().strip()
count = 0
# on average O(n)
for start in range(len(s)):
    for k in range(len(w)):
        if start + k >= len(s) or s[start + k] != w[k]:
            break
    else:
        count += 1
print(count)
""",
    ),
}
