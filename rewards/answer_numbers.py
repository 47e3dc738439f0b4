r"""Numbers in short answers: signs, thousands, fractions, powers of ten, percent, money, units."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_MINUS = "-\u2212\u2013"
_CURRENCIES = {
    "$": "usd", "usd": "usd", "dollars": "usd", "dollar": "usd", "\u20ac": "eur", "eur": "eur",
    "euros": "eur", "euro": "eur", "\u00a3": "gbp", "gbp": "gbp", "pounds": "gbp",
    "\u00a5": "jpy", "jpy": "jpy", "yen": "jpy",
}  # fmt: skip
_SCALES = {
    "%": 0.01, "percent": 0.01, "per cent": 0.01, "hundred": 1e2, "thousand": 1e3, "k": 1e3,
    "million": 1e6, "m": 1e6, "billion": 1e9, "bn": 1e9, "trillion": 1e12,
}  # fmt: skip
_MONEY = "|".join(re.escape(name) for name in sorted(_CURRENCIES, key=len, reverse=True))
_NUMBER = re.compile(
    rf"(?P<sign>[{_MINUS}+]|minus\s)?\s*(?P<money>{_MONEY})?\s*(?P<sign2>[{_MINUS}])?"
    r"(?:(?P<ten>10)\s*(?:\^|\*\*)\s*(?P<of_ten>[-+\u2212]?\d{1,3})"
    r"|(?:(?P<whole>\d{1,9})\s+)?(?P<over>\d{1,15})\s*/\s*(?P<under>\d{1,15})"
    r"|(?P<digits>\d{1,3}(?P<gap>[,'\u2019\u00a0\u202f\u2009])\d{3}(?:(?P=gap)\d{3})*(?:\.\d+)?"
    r"|\d+(?:\.\d+)?|\.\d+)"
    r"(?P<power>e[-+]?\d{1,3}|\s*[x*\u00d7\u00b7]\s*10\s*(?:\^|\*\*)\s*[-+\u2212]?\d{1,3})?)"
    r"\s*(?P<scale>%|(?:percent|per cent|hundred|thousand|million|billion|trillion|bn|k|m)"
    rf"(?![^\W_]))?\s*(?P<money2>(?:{_MONEY})(?![^\W_]))?"
    r"\s*(?P<unit>[^\W\d_][^\d]{0,30}|\u00b0[^\d]{0,20})?\.?",
    re.IGNORECASE,
)
_POWER = re.compile(r"[-+\u2212]?\d{1,3}$")
_FRACTIONS = {
    "\u00bd": " 1/2",
    "\u2153": " 1/3",
    "\u2154": " 2/3",
    "\u00bc": " 1/4",
    "\u00be": " 3/4",
}
_HIGH = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
_RAISED = re.compile(rf"(?<=\d)(\u207b?)([{_HIGH}]+)")
_LATEX = (
    (re.compile(r"\\[dt]?frac\s*\{\s*(\d+)\s*\}\s*\{\s*(\d+)\s*\}"), r" \1/\2 "),
    (re.compile(r"\\(?:text|mathrm|mathbf|textbf|textit|mathit|mbox)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\^\s*(?:\{\s*\\circ\s*\}|\\circ)"), "\u00b0"),
    (re.compile(r"\^\s*\{([^{}]*)\}"), r"^\1"),
    (re.compile(r"\\(?:times|cdot)(?![a-zA-Z])"), "\u00d7"),
    (re.compile(r"\\(?:left|right|displaystyle)(?![a-zA-Z])"), ""),
    (re.compile(r"\{,\}|\\,(?=\d{3})"), ","),
    (re.compile(r"\\[,;:! ]"), " "),
    (re.compile(r"\\([%$#&_])"), r"\1"),
)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with what it counts.

    Attributes:
        value: Its value; 12% is .12.
        whole: The same, exactly, if it is written as a whole number in digits.
        currency: `usd`, `eur`, `gbp`, `jpy` or empty.
        unit: What follows it, lower case: `km`.
    """

    value: float
    whole: int | None = None
    currency: str = ""
    unit: str = ""


def plain_text(text: str) -> str:
    r"""A text without the marks of LaTeX; raised digits and fraction signs spelt out.

    >>> plain_text(r"$-\frac{3}{4}$"), plain_text(r"\text{Paris}"), plain_text("10\u00b2")
    ('-3/4', 'Paris', '10^2')
    """
    text = text.strip()
    for left, right in (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")):
        inner = text[len(left) : -len(right)]
        if inner and text.startswith(left) and text.endswith(right) and left not in inner:
            text = inner.strip()
            break
    if "\\" in text or "^{" in text or "{,}" in text:
        for form, plain in _LATEX:
            text = form.sub(plain, text)
        text = re.sub(rf"(^|[{_MINUS}+]) +(?=\d)", r"\1", text).strip()
    for sign, plain_form in _FRACTIONS.items():
        if sign in text:
            text = text.replace(sign, plain_form).strip()
    return _RAISED.sub(_lowered, text)


def amount_of(text: str) -> Amount | None:
    """The number that a text is, with its unit, or None.

    >>> amount_of("-1,234.5 km").unit, amount_of("$3 million").currency, amount_of("3 1/2").value
    ('km', 'usd', 3.5)
    >>> amount_of("7").whole, amount_of("1.5 x 10^3").value, amount_of("10-12") is None
    (7, 1500.0, True)
    """
    text = text.strip()
    match = _NUMBER.fullmatch(text) if len(text) <= 80 else None
    if match is None or (match["sign"] and match["sign2"]):
        return None
    value, whole = _value(match)
    scale = " ".join((match["scale"] or "").lower().split())
    if value is None:
        return None
    value *= _SCALES.get(scale, 1.0)
    if not math.isfinite(value):
        return None
    if (match["sign"] or match["sign2"] or "+") != "+":
        value, whole = -value, None if whole is None else -whole
    money = _CURRENCIES.get((match["money"] or match["money2"] or "").lower(), "")
    unit = " ".join((match["unit"] or "").lower().rstrip(" .!").split())
    return Amount(value, None if scale else whole, money, unit)


def number_of(text: str) -> float | None:
    """The number that a text is, or None where it is none or has a unit.

    >>> number_of("$1,234.50"), number_of("12%"), number_of("3 million"), number_of("12 apples")
    (1234.5, 0.12, 3000000.0, None)
    """
    amount = amount_of(text)
    return None if amount is None or amount.unit else amount.value


def _value(match: re.Match[str]) -> tuple[float | None, int | None]:
    if match["ten"]:
        return 10.0 ** int(match["of_ten"].replace("\u2212", "-")), None
    if match["over"]:
        under = int(match["under"])
        if not under:
            return None, None
        return int(match["whole"] or 0) + int(match["over"]) / under, None
    digits = match["digits"].replace(match["gap"] or ",", "")
    power = ""
    if match["power"] and (found := _POWER.search(match["power"])):
        power = "e" + found[0].replace("\u2212", "-")
    exact = None if power or "." in digits or len(digits) > 60 else int(digits)
    return float(digits + power), exact


def _lowered(match: re.Match[str]) -> str:
    digits = "".join(str(_HIGH.index(one)) for one in match[2])
    return f"^{'-' if match[1] else ''}{digits}"
