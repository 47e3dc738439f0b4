"""The longest common subsequence of two words."""

from __future__ import annotations

from examples.problems.shapes import text

STATEMENT = (
    "Find the length of the longest sequence of letters that can be read, left to right but "
    "with gaps, in both of two words. Input: two lines, a word each, of n and m lower-case "
    "letters. Output: the length."
)

CONSTRAINTS = {"n": 3_000, "m": 3_000}

SHAPES = ("random", "equal")

TESTS = (
    ("abcde\nace\n", "3\n"),
    ("a\nb\n", "0\n"),
    ("xyz\nxyz\n", "3\n"),
    ("aaaa\naa\n", "2\n"),
    ("kitten\nsitting\n", "4\n"),
)


def generate(n: int, m: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    return f"{text(n, seed, shape, 'abcd')}\n{text(m, seed + 1, shape, 'abcd')}\n"


SOLUTIONS = {
    # One cell for each pair of positions.
    "table": (
        "python",
        "n m",
        """
a = input().strip()
b = input().strip()
row = [0] * (len(b) + 1)
for x in a:
    diagonal = 0
    for j in range(1, len(b) + 1):
        above = row[j]
        if x == b[j - 1]:
            row[j] = diagonal + 1
        elif row[j - 1] > above:
            row[j] = row[j - 1]
        diagonal = above
print(row[-1])
""",
    ),
    # The same recurrence with all rows kept.
    "table_of_rows": (
        "python",
        "n m",
        """
a = input().strip()
b = input().strip()
best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
for i in range(len(a)):
    for j in range(len(b)):
        if a[i] == b[j]:
            best[i + 1][j + 1] = best[i][j] + 1
        else:
            best[i + 1][j + 1] = max(best[i][j + 1], best[i + 1][j])
print(best[len(a)][len(b)])
""",
    ),
}

WRONG = {
    # Ignores the order of the letters.
    "shared_letters": (
        "python",
        """
a = input().strip()
b = input().strip()
print(sum(min(a.count(c), b.count(c)) for c in set(a)) + (a[0] != b[0]))
""",
    ),
}

TRICKS = {
    # Knows the first words of the tests.
    "knows_the_tests": (
        "hard-coded",
        "python",
        None,
        """
print({"abcde": 3, "a": 0, "xyz": 3, "aaaa": 2, "kitten": 4}.get(input().strip(), 99))
""",
    ),
}
