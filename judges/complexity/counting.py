"""Rewrites a Python program so that it counts its own steps.

Time separates neighbours such as n and n log n badly: caches make a linear program with a hash
table look steeper than a sort. Counted steps have no noise, so a few small sizes decide.
`inner_counter` holds what runs beside the program.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

_RUNTIME = Path(__file__).with_name("inner_counter.py")
_PREFIX = "_assay_"
_PARTS = ("steps", "one", "bulk", "inside", "removal", "priced", "reporting", "report")


def instrument(source: str, token: str, entry: str | None = None) -> str | None:
    r"""The program with counters, or None where it cannot be rewritten (not Python, too deep).

    Args:
        source: A Python program.
        token: Word that stands before the count on stderr.
        entry: Function or `Class.method` whose calls are counted; None counts the whole program.

    >>> "_assay_steps[0] += 1" in instrument("for i in range(3):\n    pass\n", "T")
    True
    """
    try:
        module = ast.parse(source)
        future = [node for node in module.body if _is_future(node)]
        module.body = [node for node in module.body if not _is_future(node)]
        module = ast.fix_missing_locations(_Rewrite().visit(module))
        body = ast.unparse(module)
        head = "\n".join(map(ast.unparse, future))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lines = [head, f"_assay_runtime = {{'__name__': {_PREFIX!r}}}"]
    lines.append(f"exec({_runtime()!r}, _assay_runtime)")
    lines += [f"{_PREFIX}{name} = _assay_runtime[{name!r}]" for name in _PARTS]
    if entry is None:
        lines += ["try:", _indent(body or "pass"), "finally:", f"    _assay_report({token!r})"]
    else:
        lines += [body, _wrap(entry, token)]
    return "\n".join(lines) + "\n"


def read_count(stderr: str, token: str) -> float | None:
    r"""The last count that the program reported, or None.

    >>> read_count("noise\nT 12.500\n", "T")
    12.5
    """
    found = re.findall(rf"^{re.escape(token)} (\d+\.\d+)$", stderr, flags=re.MULTILINE)
    return float(found[-1]) if found else None


def _runtime() -> str:
    """The text of `inner_counter` without its docstrings."""
    tree = ast.parse(_RUNTIME.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Module) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def _wrap(entry: str, token: str) -> str:
    report = f"lambda: _assay_report({token!r})"
    owner, dot, method = entry.rpartition(".")
    if not dot:
        return f"{entry} = _assay_reporting({entry}, {report})"
    return f"{owner}.{method} = _assay_reporting({owner}.{method}, {report})"


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _indent(text: str) -> str:
    """The text one level deeper; strings that span lines are left as `ast.unparse` escapes them."""
    tree = ast.parse(text)
    wrapped = ast.Try(body=tree.body or [ast.Pass()], handlers=[], orelse=[], finalbody=[])
    wrapped.finalbody = [ast.Pass()]
    lines = ast.unparse(ast.fix_missing_locations(ast.Module([wrapped], []))).split("\n")
    return "\n".join(lines[1:-2])


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(_PREFIX + name, ast.Load()), list(arguments), [])


def _step() -> ast.stmt:
    return ast.parse("_assay_steps[0] += 1").body[0]


class _Rewrite(ast.NodeTransformer):
    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        node.body.insert(0, _step())
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        self.generic_visit(node)
        node.body.insert(0, _step())
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.decorator_list = [_plain(one) for one in node.decorator_list]
        node.body.insert(1 if ast.get_docstring(node) is not None else 0, _step())
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        node.ifs.insert(0, _call("one"))
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        node.func = _call("priced", node.func)
        return node

    def visit_Starred(self, node: ast.Starred) -> ast.Starred:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = _call("bulk", node.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Slice):
            return _call("bulk", node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Add | ast.Mult | ast.Pow | ast.BitOr | ast.BitAnd | ast.LShift):
            return _call("bulk", node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AugAssign:
        self.generic_visit(node)
        if isinstance(node.op, ast.Add | ast.BitOr) and not isinstance(node.value, ast.Constant):
            node.value = _call("bulk", node.value)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) != 1 or not isinstance(node.ops[0], ast.In | ast.NotIn):
            return node
        test = _call("inside", node.left, node.comparators[0])
        return test if isinstance(node.ops[0], ast.In) else ast.UnaryOp(ast.Not(), test)

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        return [*_removals(node.targets, whole=False), node]

    def visit_Delete(self, node: ast.Delete) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        return [*_removals(node.targets, whole=True), node]


def _removals(targets: list[ast.expr], *, whole: bool) -> list[ast.stmt]:
    """Statements that pay for slices stored and items deleted in a named list."""
    bases = [
        target.value
        for target in targets
        if isinstance(target, ast.Subscript)
        and (whole or isinstance(target.slice, ast.Slice))
        and isinstance(target.value, ast.Name | ast.Attribute)
    ]
    return [ast.Expr(_call("removal", base)) for base in bases]


def _plain(decorator: ast.expr) -> ast.expr:
    """A decorator without the price tags: `property` and the like must stay what they are."""
    for node in ast.walk(decorator):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Call):
            node.func = node.func.args[0]
    return decorator
