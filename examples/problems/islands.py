"""Groups of people who know each other."""

from __future__ import annotations

from examples.problems.shapes import GRAPHS, graph, pairs

STATEMENT = (
    "V people and E acquaintances are given; who knows each other, directly or through others, "
    "forms a group. How many groups are there? Input: V and E, then E lines a b (1 to V). "
    "Output: the number of groups."
)

CONSTRAINTS = {"V": 100_000, "E": 200_000}

SHAPES = GRAPHS

TESTS = (
    ("5 3\n1 2\n2 3\n4 5\n", "2\n"),
    ("3 0\n", "3\n"),
    ("4 4\n1 2\n2 3\n3 4\n4 1\n", "1\n"),
    ("2 2\n1 2\n1 2\n", "1\n"),
    ("6 2\n1 6\n2 5\n", "4\n"),
)


def generate(V: int, E: int, seed: int, shape: str = "random") -> str:
    """Fresh stdin of these sizes."""
    edges = graph(V, E, seed, shape)
    return f"{V} {len(edges)}\n{pairs(edges)}"


SOLUTIONS = {
    # Each vertex is visited once, each edge looked at twice.
    "search": (
        "python",
        "V + E",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
v, e = data[0], data[1]
near = [[] for _ in range(v + 1)]
for i in range(2, 2 + 2 * e, 2):
    near[data[i]].append(data[i + 1])
    near[data[i + 1]].append(data[i])
seen = [False] * (v + 1)
groups = 0
for start in range(1, v + 1):
    if seen[start]:
        continue
    groups += 1
    seen[start] = True
    stack = [start]
    while stack:
        for other in near[stack.pop()]:
            if not seen[other]:
                seen[other] = True
                stack.append(other)
print(groups)
""",
    ),
    # Each of E edges may relabel all V people.
    "relabel": (
        "python",
        "V + E V",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
v, e = data[0], data[1]
label = list(range(v + 1))
for i in range(2, 2 + 2 * e, 2):
    old, new = label[data[i]], label[data[i + 1]]
    for p in range(1, v + 1):
        if label[p] == old:
            label[p] = new
print(len(set(label)) - 1)
""",
    ),
}

WRONG = {
    # Subtracts one group an edge.
    "without_edges": (
        "python",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
print(max(1, data[0] - data[1]) + (data[0] == 2))
""",
    ),
}

TRICKS = {
    # Claims near-constant unions.
    "claims_union_find": (
        "lying-comment",
        "python",
        "V + E V",
        """
import sys

data = list(map(int, sys.stdin.read().split()))
v, e = data[0], data[1]
parent = list(range(v + 1))
groups = v
for i in range(2, 2 + 2 * e, 2):
    a, b = parent[data[i]], parent[data[i + 1]]
    groups -= a != b
    # union by rank, inverse Ackermann time
    parent = [b if root == a else root for root in parent]
print(groups)
""",
    ),
}
