"""Moves that a tower of n discs needs."""

from __future__ import annotations

STATEMENT = (
    "The tower of Hanoi has n discs. Print the number of moves needed, modulo 10^9 + 7. Input: "
    "n (1 to 10^12). Output: the number."
)

CONSTRAINTS = {"n": 1_000_000_000_000}

SHAPES = ("exact", "odd")

TESTS = (
    ("3\n", "7\n"),
    ("1\n", "1\n"),
    ("10\n", "1023\n"),
    ("12\n", "4095\n"),
)


def generate(n: int, seed: int, shape: str = "exact") -> str:
    """Fresh stdin of these sizes."""
    return f"{n if shape == 'exact' else n | 1}\n"


SOLUTIONS = {
    # 2^n - 1 by squaring.
    "power": (
        "python",
        "log n",
        """
n = int(input())
base, result, e = 2, 1, n
while e:
    if e & 1:
        result = result * base % 1000000007
    base = base * base % 1000000007
    e >>= 1
print((result - 1) % 1000000007)
""",
    ),
    # Each disc doubles the moves and adds one.
    "disc_by_disc": (
        "python",
        "n",
        """
moves = 0
for _ in range(int(input())):
    moves = (2 * moves + 1) % 1000000007
print(moves)
""",
    ),
    # Makes all 2^n - 1 moves.
    "move_them": (
        "python",
        "2^n",
        """
def move(n, a, b, c):
    if n == 0:
        return 0
    return move(n - 1, a, c, b) + 1 + move(n - 1, c, b, a)


print(move(int(input()), "A", "B", "C") % 1000000007)
""",
    ),
    # All 2^n - 1 moves, in C++.
    "move_them_cpp": (
        "cpp",
        "2^n",
        r"""
#include <cstdio>
static long long move(long long n, int a, int b, int c) {
    if (n == 0) return 0;
    volatile int from = a;
    return move(n - 1, from, c, b) + 1 + move(n - 1, c, b, from);
}
int main() {
    long long n;
    if (scanf("%lld", &n) != 1) return 1;
    printf("%lld\n", move(n, 0, 1, 2) % 1000000007);
}
""",
    ),
}

WRONG = {
    # Says n squared.
    "squared": (
        "python",
        """
n = int(input())
print(n * n - n // 2 * 2)
""",
    ),
}

TRICKS = {
    # Says power; both branches recurse.
    "claims_power": (
        "lying-comment",
        "python",
        "2^n",
        """
def power(k):
    # exponentiation by squaring, O(log n)
    if k == 0:
        return 1
    return power(k - 1) + power(k - 1)


print((power(int(input())) - 1) % 1000000007)
""",
    ),
}
