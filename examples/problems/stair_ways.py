"""Ways to climb stairs by one or two steps."""

from __future__ import annotations

STATEMENT = (
    "In how many ways can n stairs be climbed, one or two at a time? Print the number modulo "
    "10^9 + 7. Input: n (1 to 10^12). Output: the number."
)

CONSTRAINTS = {"n": 1_000_000_000_000}

SHAPES = ("exact", "odd")

TESTS = (
    ("4\n", "5\n"),
    ("1\n", "1\n"),
    ("10\n", "89\n"),
    ("50\n", "365010934\n"),
)


def generate(n: int, seed: int, shape: str = "exact") -> str:
    """Fresh stdin of these sizes."""
    return f"{n if shape == 'exact' else n | 1}\n"


SOLUTIONS = {
    # Fast doubling: one step a bit of n, on numbers below 10^9 + 7.
    "doubling": (
        "python",
        "log n",
        """
P = 1000000007


def pair(n):
    if n == 0:
        return 0, 1
    a, b = pair(n // 2)
    c = a * (2 * b - a) % P
    d = (a * a + b * b) % P
    return (d, (c + d) % P) if n % 2 else (c, d)


print(pair(int(input()) + 1)[0])
""",
    ),
    # One addition a stair.
    "one_by_one": (
        "python",
        "n",
        """
n = int(input())
a, b = 1, 1
for _ in range(n - 1):
    a, b = b, (a + b) % 1000000007
print(b)
""",
    ),
    # One addition a stair, in C++.
    "one_by_one_cpp": (
        "cpp",
        "n",
        r"""
#include <cstdio>
int main() {
    long long n, a = 1, b = 1;
    if (scanf("%lld", &n) != 1) return 1;
    for (long long i = 1; i < n; i++) {
        long long c = (a + b) % 1000000007;
        a = b;
        b = c;
    }
    printf("%lld\n", b);
}
""",
    ),
}

WRONG = {
    # Doubles at each stair.
    "powers_of_two": (
        "python",
        """
print(pow(2, int(input()) - 1, 1000000007))
""",
    ),
}

TRICKS = {
    # Fast doubling up to 100, a loop above.
    "slow_above_100": (
        "size-switch",
        "python",
        "n",
        """
P = 1000000007
n = int(input())
if n <= 100:
    a, b = 0, 1
    for bit in bin(n + 1)[2:]:
        a, b = a * (2 * b - a) % P, (a * a + b * b) % P
        if bit == "1":
            a, b = b, (a + b) % P
    print(a % P)
else:
    a, b = 1, 1
    for _ in range(n - 1):
        a, b = b, (a + b) % P
    print(b)
""",
    ),
}
