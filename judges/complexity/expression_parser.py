"""Reads big-O expressions: plain text, Unicode and LaTeX spellings, and names of classes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from assay.errors import DataError
from assay.judges.complexity import algebra
from assay.judges.complexity.algebra import Value
from assay.judges.complexity.growth import LOG_ALPHA, LOG_STAR, monomial, variable

_NAMES = {
    "constant": "1",
    "logn": "log n",
    "log": "log n",
    "logarithmic": "log n",
    "squareroot": "sqrt n",
    "linear": "n",
    "nlogn": "n log n",
    "linearithmic": "n log n",
    "loglinear": "n log n",
    "quasilinear": "n log n",
    "quadratic": "n^2",
    "np": "2^n",
    "cubic": "n^3",
    "exponential": "2^n",
    "factorial": "n!",
}
_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿᵐᵏ", "0123456789+-nmk", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True))
_LATEX = (
    (r"\\(?:mathcal|mathrm|mathbf|text|operatorname)\s*\{([^{}]*)\}", r"\1"),
    (r"\\(?:left|right|big|Big|displaystyle)\b", ""),
    (r"\\[,;:!() ]|\$|~", " "),
    (r"\\sqrt\s*\[([^\]]*)\]\s*\{([^{}]*)\}", r"((\2)^(1/(\1)))"),
    (r"\\d?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}", r"((\1)/(\2))"),
    (r"\\(?:cdot|times|ast)", "*"),
    (r"\\([A-Za-z]+)", r" \1 "),
)
_SIGNS = {
    "×": "*", "·": "*", "⋅": "*", "∗": "*", "•": "*", "−": "-", "–": "-", "÷": "/",  # noqa: RUF001
    "√": " sqrt ", "∛": " cbrt ", "α": " alpha ", "Θ": " Theta ", "Ο": " O ", "𝒪": " O ",  # noqa: RUF001
    "{": "(", "}": ")", "[": "(", "]": ")",
}  # fmt: skip
_FUNCTIONS = ("sqrt", "cbrt", "alpha", "log", "lg", "ln", "max", "min", "exp")
_BOUNDS = ("O", "o", "Theta", "theta", "Omega")
_PRODUCTS = set("nmkNMKVEqQ")
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:e\+?\d+)?(?![A-Za-df-z\d]))|(?P<digits>\d+(?:\.\d+)?)"
    r"|(?P<word>[A-Za-z]+(?:_?\d+(?![\d.]))?(?:_[A-Za-z]\w*)*)|(?P<sign>\*\*|[-+*/^!(),|_]))"
)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # number, name, size, function, sign, end
    text: str
    glued: bool = False  # no white space since the token before


def read(text: str) -> Value:
    """The value that a spelling of a complexity stands for.

    Raises:
        DataError: Not an expression of this kind.
    """
    if len(text) > 500:
        raise DataError(
            f"a complexity must be shorter than 500 characters, got {len(text)}; pass the "
            "expression alone"
        )
    text = re.sub(r"\s+(?:time|complexity|time complexity)\s*$", "", text.strip().rstrip("."))
    name = re.sub(r"[\s_\-]", "", text.lower())
    try:
        return _Parser(_tokens(_NAMES.get(name, text)), text).whole()
    except (OverflowError, RecursionError):
        raise _error(text, "numbers too large or nesting too deep") from None


def _error(text: str, why: str) -> DataError:
    return DataError(
        f"not a complexity: {text!r:.120} ({why}); write it like 'n log n', 'O(n + m)' or 'n^2'"
    )


def _tokens(text: str) -> list[_Token]:
    plain = _plain(text)
    tokens: list[_Token] = []
    position = 0
    plain = plain.rstrip().rstrip(".")
    while position < len(plain):
        match = _TOKEN.match(plain, position)
        if match is None:
            raise _error(text, f"unexpected {plain[position:].strip()[:10]!r}")
        glued = match.end() > match.start() and not plain[position].isspace() and position > 0
        position = match.end()
        if match["word"]:
            tokens.extend(_words(match["word"], glued))
        elif match["sign"]:
            tokens.append(_Token("sign", match["sign"].replace("**", "^"), glued))
        else:
            tokens.append(_Token("number", match["number"] or match["digits"], glued))
    return [*tokens, _Token("end", "")]


def _plain(text: str) -> str:
    for pattern, replacement in _LATEX:
        before = None
        while before != text:
            before, text = text, re.sub(pattern, replacement, text)
    text = re.sub(
        f"[{''.join(_SUPERSCRIPTS)}]+",
        lambda m: "^(" + "".join(_SUPERSCRIPTS[c] for c in m[0]) + ")",
        text,
    )
    text = re.sub(
        f"[{''.join(_SUBSCRIPTS)}]+",
        lambda m: "_" + "".join(_SUBSCRIPTS[c] for c in m[0]) + " ",
        text,
    )
    text = re.sub(r"\|([A-Za-z]\w*)\|", r" \1 ", text)
    text = re.sub(r"\blog\s*\*\s*\(?\s*([A-Za-z])\s*\)?(?!\w)", r" logstar(\1) ", text)
    return "".join(_SIGNS.get(c, c) for c in text)


def _words(word: str, glued: bool) -> list[_Token]:
    """Split a run of letters: `nlogn`, `mn`; a longer word is one variable."""
    if word in _BOUNDS:
        return [_Token("function", "O", glued)]
    if word in ("logstar", "len", "length", "size"):
        return [_Token("function" if word == "logstar" else "size", word, glued)]
    base = re.fullmatch(r"([A-Za-z]*?)(log|lg)_?(2|10)([A-Za-z]*)", word)
    if base and (base[3] == "2" or base[3] == "10"):
        before = _words(base[1], glued) if base[1] else []
        after = _words(base[4], True) if base[4] else []
        return [*before, _Token("function", f"log{base[3]}", bool(before) or glued), *after]
    found = re.search("|".join(_FUNCTIONS), word)
    if found and _splits(word[: found.start()]) and _splits(word[found.end() :]):
        before = _words(word[: found.start()], glued) if found.start() else []
        after = _words(word[found.end() :], True) if found.end() < len(word) else []
        return [*before, _Token("function", found[0], bool(before) or glued), *after]
    if len(word) > 1 and set(word) <= _PRODUCTS and len(set(word)) == len(word):
        return [_Token("name", c, glued or i > 0) for i, c in enumerate(word)]
    return [_Token("name", word, glued)]


def _splits(part: str) -> bool:
    return len(part) <= 1 or set(part) <= _PRODUCTS or any(f in part for f in _FUNCTIONS)


def _canonical_name(name: str) -> str:
    if len(name) > 1:
        return name.lower()
    return name.upper() if name in "vVeE" else name.lower()


class _Parser:
    def __init__(self, tokens: list[_Token], text: str) -> None:
        self.tokens = tokens
        self.text = text
        self.at = 0

    @property
    def now(self) -> _Token:
        return self.tokens[self.at]

    def whole(self) -> Value:
        value = self.sum()
        if self.now.kind != "end":
            raise _error(self.text, f"unexpected {self.now.text!r}")
        return value

    def take(self, sign: str) -> bool:
        if self.now.kind == "sign" and self.now.text == sign:
            self.at += 1
            return True
        return False

    def need(self, sign: str) -> None:
        if not self.take(sign):
            found = self.now.text or "the end"
            raise _error(self.text, f"expected {sign!r}, found {found!r}")

    def sum(self) -> Value:
        value = self.product()
        while True:
            if self.take("+"):
                value = algebra.add(value, self.product())
            elif self.take("-"):
                value = algebra.subtract(value, self.product())
            else:
                return value

    def product(self) -> Value:
        value = self.power()
        while True:
            if self.take("*"):
                value = algebra.multiply(value, self.power())
            elif self.take("/"):
                value = algebra.divide(value, self.power())
            elif self.starts_factor():
                self.refuse_prose()
                value = algebra.multiply(value, self.power())
            else:
                return value

    def refuse_prose(self) -> None:
        before, now = self.tokens[self.at - 1], self.now
        if before.kind == now.kind == "name" and len(before.text) > 1 and len(now.text) > 1:
            raise _error(self.text, f"two words without an operator: {before.text} {now.text}")

    def starts_factor(self) -> bool:
        return self.now.kind in ("number", "name", "function", "size") or (
            self.now.kind == "sign" and self.now.text == "("
        )

    def power(self) -> Value:
        if self.take("-"):
            return algebra.subtract(algebra.constant(0.0), self.power())
        base = self.atom()
        while self.take("!"):
            base = algebra.factorial(base)
        if self.take("^"):
            return algebra.power(base, self.power())
        return base

    def atom(self) -> Value:
        token = self.now
        self.at += 1
        if token.kind == "number":
            return algebra.constant(float(token.text))
        if token.kind == "function":
            return self.function(token.text)
        if token.kind == "size" and self.now.text == "(":
            return self.atom()
        if token.kind in ("name", "size"):
            if token.text == "e" and self.now.text == "^":
                return algebra.constant(math.e)
            return algebra.of(variable(_canonical_name(token.text)))
        if token.text == "(" and token.kind == "sign":
            value = self.sum()
            self.need(")")
            return value
        raise _error(self.text, f"unexpected {token.text or 'end'!r}")

    def function(self, name: str) -> Value:
        if name in ("max", "min"):
            self.need("(")
            values = [self.sum()]
            while self.take(","):
                values.append(self.sum())
            self.need(")")
            return algebra.maximum(values) if name == "max" else algebra.minimum(values)
        base = math.e if name == "ln" else 10.0 if name == "log10" else 2.0
        exponent: Value | None = None
        while name in ("log", "lg", "ln", "log2", "log10"):
            if self.take("_"):
                found = algebra.number(self.atom())
                base = found if found is not None and found > 1 else 2.0
            elif exponent is None and self.take("^"):
                exponent = self.power()
            else:
                break
        value = self.apply(name, self.argument(), base)
        return value if exponent is None else algebra.power(value, exponent)

    def argument(self) -> Value:
        if self.now.kind == "sign" and self.now.text == "(":
            return self.atom()
        value = self.power()
        while self.now.kind == "name" and self.now.glued:
            value = algebra.multiply(value, self.power())
        return value

    def apply(self, name: str, value: Value, base: float) -> Value:
        if name == "O":
            return value
        if name == "exp":
            return algebra.exp(value)
        if name in ("sqrt", "cbrt"):
            return algebra.power(value, algebra.constant(1 / 2 if name == "sqrt" else 1 / 3))
        if name in ("alpha", "logstar"):
            level = LOG_ALPHA if name == "alpha" else LOG_STAR
            names = sorted({v for g in value for s in g for m in s for v in _names(m)})
            return algebra.add(
                algebra.constant(1.0),
                algebra.of(monomial({(((v, level), 1.0),): 1.0 for v in names[:1]})),
            )
        return algebra.log(value, base)


def _names(of: tuple[tuple[tuple[tuple[tuple[str, int], float], ...], float], ...]) -> set[str]:
    return {name for gauge, _ in of for (name, _), _ in gauge}
