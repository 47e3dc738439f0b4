"""Pairs of indices whose values add up to a target."""

from __future__ import annotations

from examples.problems.shapes import array, join

STATEMENT = (
    "Given n integers and a target k, count the pairs of positions i < j whose values add up to "
    "k. Input: n and k on the first line, the n integers (0 to 10^9) on the second. Output: the "
    "number of pairs."
)

CONSTRAINTS = {"n": 200_000}

SHAPES = ("random", "sorted", "reversed", "equal")

TESTS = (
    ("4 5\n1 4 2 3\n", "2\n"),
    ("3 4\n2 2 2\n", "3\n"),
    ("1 0\n0\n", "0\n"),
    ("5 10\n1 2 3 4 100\n", "0\n"),
    ("6 7\n3 4 3 4 0 7\n", "5\n"),
)


def generate(n: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    values = array(n, seed, shape)
    target = values[0] + values[-1]
    return f"{n} {target}\n{join(values)}\n"


SOLUTIONS = {
    # One pass over the values; each step is one lookup and one update of a hash table, O(1)
    # expected.
    "counted": (
        "python",
        "n",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
k, values = data[1], data[2:]
seen = {}
total = 0
for x in values:
    total += seen.get(k - x, 0)
    seen[x] = seen.get(x, 0) + 1
print(total)
""",
    ),
    # Sorting costs n log n; the two ends then only move inward, n steps in all.
    "two_ends": (
        "python",
        "n log n",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
k, values = data[1], sorted(data[2:])
i, j = 0, len(values) - 1
total = 0
while i < j:
    s = values[i] + values[j]
    if s < k:
        i += 1
    elif s > k:
        j -= 1
    elif values[i] == values[j]:
        m = j - i + 1
        total += m * (m - 1) // 2
        break
    else:
        a = b = 1
        while values[i + a] == values[i]:
            a += 1
        while values[j - b] == values[j]:
            b += 1
        total += a * b
        i += a
        j -= b
print(total)
""",
    ),
    # Both loops run over the values: n (n - 1) / 2 steps whatever they hold.
    "all_pairs": (
        "python",
        "n^2",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
k, values = data[1], data[2:]
n = len(values)
total = 0
for i in range(n):
    for j in range(i + 1, n):
        if values[i] + values[j] == k:
            total += 1
print(total)
""",
    ),
    # Both loops, in Java.
    "all_pairs_java": (
        "java",
        "n^2",
        """
import java.io.*;

public class Main {
    public static void main(String[] args) throws IOException {
        StreamTokenizer in = new StreamTokenizer(new BufferedInputStream(System.in));
        in.nextToken();
        int n = (int) in.nval;
        in.nextToken();
        long k = (long) in.nval;
        long[] a = new long[n];
        for (int i = 0; i < n; i++) {
            in.nextToken();
            a[i] = (long) in.nval;
        }
        long total = 0;
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++)
                if (a[i] + a[j] == k) total++;
        System.out.println(total);
    }
}
""",
    ),
}

WRONG = {
    # Counts ordered pairs and an element with itself.
    "with_itself": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
k, values = data[1], data[2:]
print(sum(1 for a in values for b in values if a + b == k))
""",
    ),
}

TRICKS = {
    # The table is a list: `in` style search walks it, so every step is O(n).
    "claims_hash": (
        "lying-comment",
        "python",
        "n^2",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
k, values = data[1], data[2:]
hash_table = []  # O(1) lookups make this O(n) overall
total = 0
for x in values:
    for stored in hash_table:
        if stored == k - x:
            total += 1
    hash_table.append(x)
print(total)
""",
    ),
}
