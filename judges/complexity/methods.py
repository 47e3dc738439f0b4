"""Reads methods of the library: what they add to, take from and read of a collection."""

from __future__ import annotations

from assay.judges.complexity import cost, library
from assay.judges.complexity.constructions import Constructions
from assay.judges.complexity.cost import ONE
from assay.judges.complexity.ir import Call, Index, Member, Operation
from assay.judges.complexity.library import PUTS
from assay.judges.complexity.traversal import key_of
from assay.judges.complexity.values import CHARACTER, CONSTANT, NONE, Value


class Methods(Constructions):
    """Methods of collections, and functions over ranges of them."""

    def library_method(self, name: str, owner: Value, arguments: list[Value], node: Call) -> Value:
        """A method of the library."""
        callee = node.callee
        assert isinstance(callee, Member)
        first = arguments[0] if arguments else NONE
        if owner.kind == "none" and type(callee.owner) is Index:
            owner = Value("list", ONE, None, None, None, len(self.stack))
        if (
            name in library.CALLBACKS
            and arguments
            and any(a.function is not None for a in arguments)
        ):
            return self.callback(name, owner, arguments, node)
        if name in PUTS and name not in ("pop",):
            return self.put(name, owner, arguments, node)
        if name in ("clear",):
            return NONE
        if name in ("sort",) and not owner.is_collection and first.is_collection:
            return self.by_table(("nl", "none"), first, node)
        if name in ("pop", "remove", "erase"):
            return self.take(name, owner, arguments, node)
        if name == "join":
            target = first if first.is_collection else owner
            self.charge(target.size, node.line, "joins texts")
            return Value("text", target.size, element=CHARACTER)
        if name in ("split", "split_whitespace"):
            length = owner.size
            if owner.kind in ("line", "token"):
                words = owner.like("list", length, len(self.stack))
                words.element = self.token(node)
                return words
            self.charge(length, node.line, "splits a text")
            element = Value("text", length, element=CHARACTER)
            return Value("list", length, None, element, None, len(self.stack))
        if name in ("substring", "substr", "slice", "subList") and arguments:
            return self.part(owner, node)
        if name in ("length", "size", "len") or (name == "count" and not arguments):
            counted = Value("num", owner.size)
            counted.ragged = owner.ragged
            return counted
        if name in ("get", "charAt", "at", "getOrDefault", "setdefault") and owner.is_collection:
            self.charge_key(owner, node.line)
            if owner.kind in ("text", "line", "token"):
                return CHARACTER
            if owner.element is None:
                owner.element = Value("list", ONE, None, None, None, owner.depth)
            return owner.element
        if name == "items" and owner.is_collection:
            pair = Value("tuple", items=[Value("num"), owner.element or Value("any")])
            return Value("lazy", owner.size, element=pair)
        if name in ("parse", "intValue", "longValue") and owner.is_collection:
            return self.to_number(owner, node)
        if name in ("format", "compareTo") and owner.kind == "text" and name == "format":
            return owner
        entry = library.METHODS.get(name)
        if entry is None:
            for argument in arguments:
                if argument.function is not None:
                    self.repeat(argument, [], owner.size, node)
            return Value("any") if not owner.is_collection else owner
        if not owner.is_collection and cost.is_constant(owner.size):
            if entry[1] in ("same", "list", "text"):
                return owner
            return CONSTANT if entry[1] in ("bool", "const", "num") else Value("any")
        return self.by_table(entry, owner, node)

    def callback(self, name: str, owner: Value, arguments: list[Value], node: Call) -> Value:
        """A method that calls a function for every element."""
        count, element = self.iteration(owner, None)
        result: Value = NONE
        for argument in arguments:
            if argument.function is not None:
                given = [CONSTANT, element] if name in ("reduce", "fold") else [element]
                result = self.repeat(argument, given, count, node)
        if name in ("map", "flatMap", "mapToInt", "filter_map", "mapToLong"):
            made = owner.like("list", count, len(self.stack))
            made.element = result
            return made
        if name in ("filter", "takeWhile", "take_while"):
            return owner.like("list", count, len(self.stack))
        return element if name in ("find", "reduce", "fold") else CONSTANT

    def put(self, name: str, owner: Value, arguments: list[Value], node: Call) -> Value:
        """A method that adds to a collection."""
        value = arguments[-1] if arguments else NONE
        if name in ("extend", "addAll", "update") and value.is_collection:
            self.charge(value.size, node.line, "adds a collection")
            self.grow(owner, value.size)
        else:
            inside = name in ("insert", "unshift") or (name == "add" and len(arguments) > 1)
            if inside and owner.kind in ("list", "text"):
                self.charge(owner.size, node.line, "shifts a list to insert")
            self.grow(owner, ONE)
            self.charge_key(owner, node.line)
        if owner.is_collection:
            callee = node.callee
            assert isinstance(callee, Member)
            through = callee.owner
            if type(through) is Index or (
                type(through) is Call
                and key_of(through.callee).lstrip(".") in ("get", "setdefault")
            ):
                owner.ragged = True
            if owner.element is None or owner.element.kind in ("none", "any", "num"):
                owner.element = value.element if name in ("extend", "addAll") else value
        return owner if name == "append" and owner.kind == "text" else NONE

    def take(self, name: str, owner: Value, arguments: list[Value], node: Call) -> Value:
        """A method that removes from a collection."""
        first = arguments[0] if arguments else None
        if owner.kind in ("list", "any", "text"):
            from_end = name == "pop" and (first is None or first.number == -1)
            if not from_end and arguments and not (name == "remove" and owner.kind == "any"):
                self.charge(owner.size, node.line, "searches or shifts a list")
        self.charge_key(owner, node.line)
        return owner.element or Value("any")

    def part(self, owner: Value, node: Call) -> Value:
        """`text.substring(low, high)`."""
        size = owner.size
        nodes = node.arguments
        if len(nodes) > 1:
            gap = self.gap(nodes[0], nodes[1])
            low, high = self.quietly(nodes[0]), self.quietly(nodes[1])
            if gap is not None and self.language != "cpp":
                size = gap
            elif high is not None and low is not None and high.number is not None:
                size = ONE
        self.charge(size, node.line, "copies part of a text")
        kind = "text" if owner.kind in ("line", "token", "any") else owner.kind
        return owner.like(kind, size, len(self.stack))

    def over_range(self, name: str, node: Call, arguments: list[Value]) -> Value:
        """Functions over a collection or a pair of iterators: `sort(v.begin(), v.end())`."""
        first = arguments[0] if arguments else NONE
        size = first.size
        if len(node.arguments) > 1 and type(node.arguments[1]) is Operation:
            gap = self.gap(node.arguments[0], node.arguments[1])
            if gap is not None:
                size = gap
        if len(arguments) > 2 and first.is_collection and self.language in ("java", "go"):
            size = arguments[2].size  # sort(array, from, to)
        owner = first if first.is_collection else Value("list", size)
        owner = owner.like(owner.kind, size, owner.depth)
        if name in ("sort", "stable_sort"):
            return self.by_table(("nl", "none"), owner, node)
        if name in ("lower_bound", "upper_bound", "binary_search"):
            return self.by_table(("l", "num"), owner, node)
        if name == "next_permutation":
            self.charge(size, node.line, "steps to the next order")
            return Value("permutation", size)
        return self.by_table(("n", "item"), owner, node)
