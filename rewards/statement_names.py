"""Which names Python statements read from outside and which they bind, in the order they run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def outside_scopes(node: ast.AST) -> Iterator[ast.AST]:
    """`node` and what stands below it, without the bodies of functions, classes and lambdas."""
    yield node
    if not isinstance(node, _SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from outside_scopes(child)


def bound(node: ast.AST) -> set[str]:
    r"""Names that a statement binds in its own scope; loops and branches count as run.

    >>> sorted(bound(ast.parse("for i in x:\n    import a.b\n    y = [z for z in i]").body[0]))
    ['a', 'i', 'y']
    """
    inner = {
        name.id
        for one in outside_scopes(node)
        if isinstance(one, _COMPREHENSIONS)
        for generator in one.generators
        for name in ast.walk(generator.target)
        if isinstance(name, ast.Name)
    }
    names: set[str] = set()
    for one in outside_scopes(node):
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load) and one.id not in inner:
            names.add(one.id)
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(one.name)
        elif isinstance(one, ast.alias):
            names.add((one.asname or one.name).partition(".")[0])
        elif isinstance(one, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and one.name:
            names.add(one.name)
        elif isinstance(one, ast.MatchMapping) and one.rest:
            names.add(one.rest)
    return names


def read(node: ast.AST | Iterable[ast.AST]) -> set[str]:
    r"""Names that statements read and have not bound before, functions inside them included.

    >>> sorted(read(ast.parse("for i in x:\n    y = f(i)\n    assert y == z")))
    ['f', 'x', 'z']
    >>> sorted(read(ast.parse("total += 1")))
    ['total']
    """
    if not isinstance(node, ast.AST):
        found: set[str] = set()
        known: set[str] = set()
        for one in node:
            found |= read(one) - known
            known |= bound(one)
        return found
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Store) else {node.id}
    if isinstance(node, ast.AugAssign):
        return read([node.value]) | {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
    if isinstance(node, ast.Assign):
        return read([node.value, *node.targets])
    if isinstance(node, ast.For | ast.AsyncFor):
        return read([node.iter, node.target, *node.body, *node.orelse])
    if isinstance(node, _COMPREHENSIONS):
        last = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        steps = [s for g in node.generators for s in (g.iter, g.target, *g.ifs)]
        return read([*steps, *last])
    if isinstance(node, ast.comprehension):
        return read([node.iter, node.target, *node.ifs])
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        given = {arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        rest = [] if isinstance(node, ast.Lambda) else node.decorator_list
        return (read(body) - given) | read([node.args, *rest])
    if isinstance(node, ast.ExceptHandler):
        return read(list(ast.iter_child_nodes(node))) - {node.name or ""}
    return read(list(ast.iter_child_nodes(node)))
