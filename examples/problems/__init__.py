"""Sixty small programming problems with solutions whose time complexity is known and proved.

One module a problem, all of one layout:

- `STATEMENT`, and `CONSTRAINTS`: the variables of the labels with their maxima
- `RELATIONS`, where variables are bounded by others: `("k", "n")` says k <= n
- `TESTS`: pairs of stdin and expected stdout
- `SHAPES` and `generate(*sizes, seed, shape)`: fresh input, sizes in the order of `CONSTRAINTS`
- `SOLUTIONS`: name -> (language, complexity, source), right ones, best first; the comment above
  each says why the label is true. Reading the input counts.
- `WRONG`: name -> (language, source), fails at least one test
- `TRICKS`: name -> (kind, language, complexity, source). `hard-coded` knows the answers of the
  tests and no others (complexity None); `lying-comment` claims a better complexity than it has;
  `size-switch` is fast on small input only; `best-case` is fast on some shapes only; `padding`
  and `timer-patch` hide growth from a careless clock. All but the first are right.
"""

from examples.problems.catalogue import Problem, Solution, inputs_of, load, rows

__all__ = ["Problem", "Solution", "inputs_of", "load", "rows"]
