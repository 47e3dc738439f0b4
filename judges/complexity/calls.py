"""Reads calls: library functions by their tables, conversions, readers of input, iteration."""

from __future__ import annotations

from assay.judges.complexity import cost, library
from assay.judges.complexity.cost import ONE
from assay.judges.complexity.ir import Call, Index, Member, Name, New, Node, Spread
from assay.judges.complexity.sequences import Sequences
from assay.judges.complexity.values import CHARACTER, CONSTANT, NONE, Value

_SEARCHED = frozenset({"list", "text", "tuple", "line", "token", "deque", "lazy", "any"})


class Calls(Sequences):
    """Calls of every kind."""

    def call(self, node: Call) -> Value:
        """The value of a call; its cost is charged."""
        callee = node.callee
        if type(callee) is Name:
            known = self.lookup(callee.id)
            if known is not None and known.alias is not None:
                return self.call(self.meant(node, known.alias))
            found = self.user_call(callee.id, node)
            if found is not None:
                return found
            return self.function_call(callee.id, node, self.arguments(node))
        if type(callee) is Member:
            return self.method_call(callee, node)
        value = self.value(callee)
        arguments = self.arguments(node)
        if value.function is not None:
            return self.invoke(value.function, arguments, node, value.scopes)
        return Value("any")

    def meant(self, node: Call, alias: Node) -> Call:
        """A call with the function of the library in place of the program's name for it."""
        key = id(node), id(alias)
        if key not in self.meant_calls:
            made = Call(alias, node.arguments, node.line, node.keywords)
            self.meant_calls[key] = made
        return self.meant_calls[key]

    def arguments(self, node: Call) -> list[Value]:
        """Values of positional arguments; keyword arguments are read too."""
        values = [self.value(argument) for argument in node.arguments]
        for argument in (node.keywords or {}).values():
            self.value(argument)
        return values

    def user_call(self, name: str, node: Call) -> Value | None:
        """A call of a function or class that the program defines, if it is one."""
        value = self.lookup(name)
        if value is not None and value.function is not None:
            return self.invoke(value.function, self.arguments(node), node, value.scopes)
        if name in self.classes:
            return self.construct(New(name, node.arguments, node.line))
        if name in self.methods and self.language in ("java", "cpp"):
            return self.invoke_method(name, self.arguments(node), node)
        return None

    def method_call(self, callee: Member, node: Call) -> Value:
        """`owner.name(...)`."""
        name = callee.name
        library_owner = self.is_library_owner(callee.owner)
        if (
            self.has_method(name, len(node.arguments))
            and not library_owner
            and not (self.is_wrapped(name) and type(callee.owner) is Member)
        ):
            owned = self.value(callee.owner)
            return self.invoke_method(name, self.arguments(node), node, owned.owner)
        field = self.lookup("." + name)
        if field is not None and field.function is not None and not library_owner:
            return self.invoke(field.function, self.arguments(node), node, field.scopes)
        if (name in library.READERS and name != "read") or (name == "read" and not node.arguments):
            self.arguments(node)
            return self.read_input(name, node, callee.owner)
        owner = self.value(callee.owner)
        arguments = self.arguments(node)
        if name in ("start", "run") and "run" in self.methods:
            return self.invoke_method("run", arguments, node)
        if name == "append" and type(callee.owner) is Name and self.language == "go":
            return owner
        if not owner.is_collection and owner.kind not in ("char",):
            module = self.module_call(name, callee, node, arguments, owner)
            if module is not None:
                return module
        return self.library_method(name, owner, arguments, node)

    def is_wrapped(self, name: str) -> bool:
        """Whether a method that is being read shares its name with what it wraps."""
        known = name in library.READERS or name in library.METHODS or name == "write"
        return known and any(frame.function.name == name for frame in self.active)

    def has_method(self, name: str, count: int) -> bool:
        """Whether the program defines a method of this name that takes so many arguments."""
        return any(
            len(method.parameters) - self.receivers(method) >= count
            or (method.types and ("..." in method.types[-1] or method.types[-1] == "[]"))
            or self.language == "python"
            for method in self.methods.get(name, ())
        )

    def is_library_owner(self, owner: Node) -> bool:
        """Whether a method's owner is plainly a value or module of the library."""
        root = owner
        while type(root) is Member:
            root = root.owner
        if type(root) is Name and root is not owner and self.lookup(root.id) is None:
            return root.id not in ("self", "this") and root.id not in self.classes
        value = self.quietly(owner) if type(owner) in (Name, Index, Member) else None
        return value is not None and value.is_collection

    def module_call(
        self, name: str, callee: Member, node: Call, arguments: list[Value], owner: Value
    ) -> Value | None:
        """`module.function(...)`, or a method of something unknown."""
        if name in library.CONSTRUCTORS and not arguments:
            return Value(self.kind_made(name), depth=len(self.stack))
        known = (
            name in library.FUNCTIONS or name in library.NUMBERS or name in library.COMBINATIONS
            or name in ("max", "min", "pow", "range", "map", "filter", "append", "Scan", "Fscan")
            or name in library.TEXTS or name in library.CONSTRUCTORS
        )  # fmt: skip
        if owner.kind == "any" and not cost.is_constant(owner.size) and name in library.METHODS:
            return None
        if known and (arguments or name in ("array",)):
            if name in library.METHODS and owner.kind not in ("any", "none", "object"):
                return None
            return self.function_call(name, node, arguments)
        if owner.kind == "num" and name in library.TEXTS:
            return Value("text", cost.log(owner.size), element=CHARACTER)
        return None

    # -- functions ------------------------------------------------------------------------------

    def function_call(self, name: str, node: Call, arguments: list[Value]) -> Value:
        """A function of the library, or an unknown one."""
        first = arguments[0] if arguments else NONE
        if name in ("scanf", "cin", "Scan", "Scanln", "Scanf", "Fscan", "Fscanf", "Fscanln"):
            return self.scan(node)
        if name in library.READERS and not (name in ("read", "next") and arguments):
            return self.read_input(name, node, None)
        if name in ("range", "xrange", "IntStream", "rangeClosed"):
            return self.ranged(node, arguments)
        if name == "len":
            return Value("num", first.size, len(first.items) if first.items is not None else None)
        if name in ("max", "min") and len(arguments) > 1:
            return self.extreme(name, arguments)
        if name in ("pow", "Pow", "powl", "power"):
            return self.powered(node, arguments)
        if name in ("map", "filter", "forEach", "starmap") and len(arguments) > 1:
            return self.mapped(name, node, arguments)
        if name == "zip" and arguments:
            size = min((a.size for a in arguments), key=cost.degree)
            items = [self.iteration(a, None)[1] for a in arguments]
            return Value("lazy", size, element=Value("tuple", items=items))
        if name == "enumerate":
            element = Value(
                "tuple", items=[Value("num", first.size), self.iteration(first, None)[1]]
            )
            return Value("lazy", first.size, element=element)
        if name in library.COMBINATIONS:
            return self.combined_choices(name, node, arguments)
        if name in library.NUMBERS and len(arguments) >= 1:
            return self.to_number(first, node)
        if name in library.TEXTS:
            if first.kind == "num":
                return Value("text", cost.log(first.size), element=CHARACTER)
            return Value("text", first.size, element=CHARACTER)
        if name in ("append", "push", "insert") and first.is_collection:  # Go's append
            self.grow(first, ONE)
            for argument in arguments[1:]:
                first.element = first.element or argument
            return first
        if name in ("heappush", "heappop", "heapreplace", "heappushpop", "Push", "Pop", "insort"):
            if name in ("heappush", "Push", "insort") and len(arguments) > 1:
                self.grow(first, ONE)
                first.element = first.element or arguments[1]
            if name == "insort":
                self.charge(first.size, node.line, "inserts into a sorted list")
            else:
                self.charge(cost.log(first.size), node.line, "heap operation")
            return first.element or Value("any")
        if name in ("make", "Array"):
            return self.made(node, arguments)
        if name in ("sort", "reverse", "fill", "lower_bound", "upper_bound", "accumulate",
                    "max_element", "min_element", "unique", "next_permutation", "fill_n",
                    "binary_search", "iota", "nth_element", "stable_sort", "memset", "count",
                    "find", "is_sorted", "partial_sum", "copy"):  # fmt: skip
            return self.over_range(name, node, arguments)
        if name in library.CONSTRUCTORS and name not in library.FUNCTIONS:
            return self.collection(name, node, arguments)
        found = library.FUNCTIONS.get(name)
        if found is not None:
            if name in ("print", "join"):
                return NONE
            return self.by_table(found, first, node)
        if name in ("print", "println", "puts"):
            for part, value in zip(node.arguments, arguments, strict=False):
                if type(part) is Spread or value.kind in ("list", "lazy"):
                    self.charge(value.size, node.line, "prints a collection")
            return NONE
        for argument in arguments:
            if argument.function is not None:
                self.invoke(argument.function, [], node, argument.scopes)
        return Value("any")

    def by_table(self, entry: tuple[str, str], owner: Value, node: Node) -> Value:
        """Charge the cost of a table's entry and make its result."""
        kind, result = entry
        size = owner.size
        amount = ONE
        if kind == "n" and (owner.is_collection or owner.kind == "any"):
            amount = size
        elif kind == "nl":
            amount = cost.times(size, cost.log(size))
        elif kind in ("l", "num"):
            amount = cost.log(size)
        elif kind == "seq":
            amount = (
                size if owner.kind in _SEARCHED
                else cost.log(size) if owner.kind in ("tree", "heap") else ONE
            )  # fmt: skip
        elif kind == "key" and owner.kind in ("tree", "heap"):
            amount = cost.log(size)
        if owner.row or (owner.read and kind == "n" and result in ("list", "text", "same")):
            amount = ONE
        self.charge(amount, node.line, _WHY.get(kind, ""))
        return self.result(result, owner)

    def result(self, result: str, owner: Value) -> Value:
        """The value that a table's entry names."""
        size = owner.size
        if result == "same":
            return owner
        if result in ("bool", "const"):
            return CONSTANT
        if result == "none":
            return NONE
        if result == "num":
            return Value("num", size)
        if result == "item":
            return owner.element or Value("any")
        if result == "text":
            return Value("text", size, element=CHARACTER)
        if result == "digits":
            return Value("text", cost.log(size), element=CHARACTER)
        if result == "root":
            return Value("num", cost.root(size, 2.0))
        if result == "log":
            return Value("num", cost.log(size))
        kind = "any" if result == "any" else result
        if owner.kind in ("text", "line"):
            made = Value(kind, size, element=CHARACTER, depth=len(self.stack))
            return made
        return owner.like(kind, size, len(self.stack))


_WHY = {
    "n": "goes through a collection",
    "nl": "sorts",
    "l": "searches a sorted range",
    "seq": "searches or shifts a list or text",
    "key": "balanced tree or heap",
    "num": "Euclid's algorithm",
}
