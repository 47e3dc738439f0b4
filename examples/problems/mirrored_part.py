"""The longest part of a text that reads the same both ways."""

from __future__ import annotations

from examples.problems.shapes import text

STATEMENT = (
    "Find the length of the longest run of consecutive letters that reads the same backwards. "
    "Input: a line of n lower-case letters. Output: the length."
)

CONSTRAINTS = {"n": 3_000}

SHAPES = ("random", "equal", "periodic")

TESTS = (
    ("banana\n", "5\n"),
    ("a\n", "1\n"),
    ("abc\n", "1\n"),
    ("aaaa\n", "4\n"),
    ("xabcba\n", "5\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return text(n, seed, shape, "abc") + "\n"


SOLUTIONS = {
    # Manacher: the right border only moves forward.
    "marks": (
        "python",
        "n",
        """
s = "^" + "".join("#" + c for c in input().strip()) + "#$"
reach = [0] * len(s)
middle = right = 0
for i in range(1, len(s) - 1):
    if i < right:
        reach[i] = min(right - i, reach[2 * middle - i])
    while s[i + reach[i] + 1] == s[i - reach[i] - 1]:
        reach[i] += 1
    if i + reach[i] > right:
        middle, right = i, i + reach[i]
print(max(reach))
""",
    ),
    # 2n - 1 middles, each stretched at most n / 2 steps; all of them on equal letters.
    "from_the_middle": (
        "python",
        "n^2",
        """
s = input().strip()
n = len(s)
best = 0
for middle in range(2 * n - 1):
    i = middle // 2
    j = i + middle % 2
    while i >= 0 and j < n and s[i] == s[j]:
        i -= 1
        j += 1
    if j - i - 1 > best:
        best = j - i - 1
print(best)
""",
    ),
    # n (n + 1) / 2 parts, each compared letter by letter; equal letters never differ early.
    "every_part": (
        "python",
        "n^3",
        """
s = input().strip()
n = len(s)
best = 0
for i in range(n):
    for j in range(i, n):
        a, b = i, j
        while a < b and s[a] == s[b]:
            a += 1
            b -= 1
        if a >= b and j - i + 1 > best:
            best = j - i + 1
print(best)
""",
    ),
}

WRONG = {
    # Looks at odd lengths only.
    "odd_only": (
        "python",
        """
s = input().strip()
best = 1
for i in range(len(s)):
    k = 0
    while i - k >= 0 and i + k < len(s) and s[i - k] == s[i + k]:
        k += 1
    best = max(best, 2 * k - 1)
print(best)
""",
    ),
}

TRICKS = {
    # About 2 comparisons a middle on random letters; n on equal ones.
    "random_letters": (
        "best-case",
        "python",
        "n^2",
        """
s = input().strip()
longest = 0
for i in range(len(s)):
    for odd in (0, 1):
        left, right = i, i + odd
        while left >= 0 and right < len(s):
            if s[left] != s[right]:
                break
            left -= 1
            right += 1
        longest = max(longest, right - left - 1)
print(longest)
""",
    ),
}
