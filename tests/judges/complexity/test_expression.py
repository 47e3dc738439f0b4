from __future__ import annotations

import math
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import DataError
from assay.judges.complexity.constraints import Constraints
from assay.judges.complexity.expression import CLASSES, Expression, parse

SPELLINGS = [
    ("O(n+m log n)", "m log n + n"),
    ("nlogn", "n log n"),
    ("O(N^2 log N)", "n^2 log n"),
    ("O(V+E)", "E + V"),
    ("O(|V| + |E|)", "E + V"),
    ("O(sqrt n)", "sqrt(n)"),
    ("O(1)", "1"),
    ("O(26)", "1"),
    ("O(n·α(n))", "n alpha(n)"),  # noqa: RUF001
    (r"\mathcal{O}(n \log n)", "n log n"),
    (r"$O(n^{2})$", "n^2"),
    (r"O(\sqrt{n})", "sqrt(n)"),
    (r"O(\sqrt[3]{n})", "n^(1/3)"),
    (r"O(n \cdot m)", "m n"),
    (r"O\left(\frac{n^2}{2}\right)", "n^2"),
    ("n²", "n^2"),
    ("2ⁿ", "2^n"),
    ("√n", "sqrt(n)"),
    ("n×m", "m n"),  # noqa: RUF001
    ("n log₂ n", "n log n"),
    ("n log2(n)", "n log n"),
    (r"n \log_{2}{n}", "n log n"),
    ("n lg n", "n log n"),
    ("log^2 n", "(log n)^2"),
    ("n log²(n)", "n (log n)^2"),
    ("constant", "1"),
    ("log n", "log n"),
    ("linear", "n"),
    ("n log n", "n log n"),
    ("linearithmic", "n log n"),
    ("quadratic time", "n^2"),
    ("cubic", "n^3"),
    ("exponential", "2^n"),
    ("factorial", "n!"),
    ("O(mn)", "m n"),
    ("O(n(n-1)/2)", "n^2"),
    ("O((n+m) log (n+m))", "m log m + n log n"),
    ("O(n log nm)", "n log m + n log n"),
    ("max(n, m^2)", "m^2 + n"),
    ("min(n, m)", "min(m, n)"),
    ("min(n, n^2)", "n"),
    ("2^(2n)", "4^n"),
    ("2^(n-1)", "2^n"),
    ("2^(log n)", "n"),
    ("2^(n+m)", "2^m 2^n"),
    ("n^log_2(4)", "n^2"),
    ("log(n!)", "n log n"),
    ("log(n^2)", "log n"),
    ("O(n) + O(m)", "m + n"),
    ("n / log n", "n (log n)^(-1)"),
    ("n^k", "n^(k)"),
    ("O(len(s) + rows*cols)", "cols * rows + s"),
    ("nm + n² + m²", "m^2 + n^2"),
    ("O(n - k)", "n"),
]


@pytest.mark.parametrize(("text", "canonical"), SPELLINGS)
def test_spellings(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical
    assert parse(canonical) == parse(text)


@pytest.mark.parametrize(
    "text",
    ["", "O(", "n +", "n ^", "+", "-n", "foo bar", "2^(2^n)", "n ? m", "O()", ")", "max(n", "n,m",
     "n / (n + m)", "n / 0", "x" * 600],
)  # fmt: skip
def test_nonsense_is_a_data_error_with_advice(text: str) -> None:
    with pytest.raises(DataError, match=r"write|remove|pass"):
        parse(text)


def test_not_text_is_a_data_error() -> None:
    with pytest.raises(DataError, match="must be text, got int; pass a string"):
        parse(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        ("n", "n log n", "less"),
        ("n log n", "n^1.01", "less"),
        ("(log n)^9", "sqrt n", "less"),
        ("n^9", "1.1^n", "less"),
        ("2^n n", "3^n", "less"),
        ("3^n", "n!", "less"),
        ("n!", "n^n", "less"),
        ("n! 2^n", "n^n", "less"),  # Stirling: n! ~ (n/e)^n, and 2 < e
        ("n^n", "n! 3^n", "less"),  # 3 > e
        ("n alpha(n)", "n log log n", "less"),
        ("n", "n alpha(n)", "less"),
        ("n", "m", "incomparable"),
        ("n + m", "n m", "less"),
        ("n + m log n", "n", "greater"),
        ("E log V", "V^2", "incomparable"),
        ("n m", "n^2 + m^2", "less"),  # AM-GM: neither term alone bounds the product
        ("n log(n) log(n)", "n log^2 n", "equal"),
        ("min(n, m)", "n", "less"),
        ("min(n, m)", "max(n, m)", "less"),
        ("min(n, m) + k", "min(n + k, m + k)", "equal"),
        ("n m", "2^n", "incomparable"),
        ("2^n", "2^m", "incomparable"),
        ("n log m", "n log n + m", "less"),
    ],
)
def test_known_orders(left: str, right: str, order: str) -> None:
    opposite = {"less": "greater", "greater": "less"}.get(order, order)
    assert parse(left).compare(parse(right)) == order
    assert parse(right).compare(parse(left)) == opposite


@pytest.mark.parametrize(
    ("left", "right", "constraints", "order"),
    [
        ("m", "n", ["m <= n"], "less"),
        ("n + m", "n", ["m <= n"], "equal"),
        ("n + m log n", "n log n", ["m <= n"], "less"),
        ("E log V", "V^2 log V", ["E <= V^2"], "less"),
        ("E + V", "E", ["V ≤ E"], "equal"),
        ("n m", "n^2", ["m = n"], "equal"),
        ("n", "m", ["m <= k", "k <= sqrt n"], "greater"),
        ("n", "m", "n <= 10^5, m <= 20", "greater"),
        ("m log n", "n", "n <= 2*10^5; m <= 100", "less"),
    ],
)
def test_constraints_decide_more(left: str, right: str, constraints: object, order: str) -> None:
    assert parse(left).compare(parse(right), constraints) == order


def test_a_bounded_variable_is_constant_when_asked() -> None:
    left, right, bounds = parse("n + m log n"), parse("n"), ["n <= 2e5", "1 <= m <= 10"]
    assert left.compare(right, bounds) == "greater"
    assert left.compare(right, bounds, constant_below=10) == "equal"
    assert str(parse("n m").without(["m"])) == "n"
    assert Constraints.of({"n": 5}).constants(5) == {"n"}
    assert Constraints.of("n <= 200,000").maxima == {"n": 200_000}


def test_bad_constraints_say_what_to_write() -> None:
    with pytest.raises(DataError, match="write it like 'm <= n'"):
        parse("n").compare(parse("m"), ["m is small"])
    with pytest.raises(DataError, match="got int"):
        parse("n").compare(parse("m"), 3)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *[(name, name) for name in CLASSES],
        ("sqrt n", "logn"),  # exponent 0.5 is nearer to log n (0.22 at 10^6) than to n
        ("n^1.5", "nlogn"),
        ("n m", "quadratic"),
        ("n log^2 n", "nlogn"),
        ("n^2 log n", "quadratic"),
        ("n^4", "cubic"),
        ("n alpha(n)", "linear"),
        ("log^2 n", "logn"),
        ("V + E log V", "nlogn"),
        ("n!", "exponential"),
        ("2^sqrt(n)", "exponential"),
        ("min(n, 2^m)", "linear"),
        ("1/n", None),
    ],
)
def test_nearest_class(text: str, name: str | None) -> None:
    assert parse(text).to_class() == name


def test_evaluation() -> None:
    assert parse("n log n").evaluate({"n": 1024}) == 10240
    assert parse("n + m").evaluate({"n": 3, "m": 4}) == pytest.approx(7)
    assert parse("min(n, m)").evaluate({"n": 3, "m": 4}) == pytest.approx(3)
    assert parse("2^n n").evaluate({"n": 10}) == pytest.approx(10240)
    assert parse("n!").evaluate({"n": 20}) == pytest.approx(math.factorial(20) / 2.5066, rel=0.01)
    assert parse("2^n").evaluate({"n": 1e6}) == math.inf
    assert parse("2^n").log_evaluate({"n": 1e6}) == pytest.approx(1e6 * math.log(2))
    assert parse("n alpha(n)").evaluate({"n": 1e9}) == pytest.approx(4e9)
    with pytest.raises(DataError, match="no value for m"):
        parse("n m").evaluate({"n": 1})


def test_pickles_and_hashes() -> None:
    expression = parse("n + m log n")
    assert pickle.loads(pickle.dumps(expression)) == expression
    assert len({expression, parse("m log n + n")}) == 1


_powers = st.sampled_from([0, 0.5, 1, 2, 3])
_logs = st.sampled_from([0, 0, 1, 2])


@st.composite
def monomials(draw: st.DrawFn) -> str:
    parts = [f"{v}^{draw(_powers)} (log {v})^{draw(_logs)}" for v in ("n", "m")]
    base = draw(st.sampled_from(["", "", "", "2^n", "3^m", "n!"]))
    return " ".join([base, *parts]).strip()


@st.composite
def expressions(draw: st.DrawFn) -> Expression:
    sums = draw(st.lists(st.lists(monomials(), min_size=1, max_size=3), min_size=1, max_size=2))
    texts = [" + ".join(terms) for terms in sums]
    return parse(texts[0] if len(texts) == 1 else f"min({', '.join(texts)})")


_QUICK = settings(max_examples=60, deadline=None)


@_QUICK
@given(expressions())
def test_reflexive_and_round_trip(a: Expression) -> None:
    assert a.compare(a) == "equal"
    assert parse(str(a)) == a


@_QUICK
@given(expressions(), expressions())
def test_antisymmetric(a: Expression, b: Expression) -> None:
    there, back = a.compare(b), b.compare(a)
    assert {there: back} in (
        {"less": "greater"}, {"greater": "less"}, {"equal": "equal"},
        {"incomparable": "incomparable"},
    )  # fmt: skip
    if len(a.alternatives) == len(b.alternatives) == 1:
        assert (there == "equal") == (a == b)


@_QUICK
@given(expressions(), expressions(), expressions())
def test_transitive(a: Expression, b: Expression, c: Expression) -> None:
    if a.compare(b) in ("less", "equal") and b.compare(c) in ("less", "equal"):
        assert a.compare(c) in ("less", "equal")
    if a.compare(b) == "equal":
        assert a.compare(c) == b.compare(c)


@_QUICK
@given(expressions(), expressions())
def test_sum_and_maximum_bound_and_minimum_is_bounded(a: Expression, b: Expression) -> None:
    assert parse(f"max({a}, {b})").compare(parse(f"({a}) + ({b})")) == "equal"
    assert a.compare(parse(f"({a}) + ({b})")) in ("less", "equal")
    assert parse(f"min({a}, {b})").compare(a) in ("less", "equal")


@_QUICK
@given(expressions(), expressions())
def test_agrees_with_numbers(a: Expression, b: Expression) -> None:
    """What grows faster has, at huge sizes, no smaller a logarithm, up to a constant factor."""
    if a.compare(b) not in ("less", "equal"):
        return
    for log_n, log_m in ((60, 60), (60, 120), (120, 60)):
        sizes = {"n": math.exp(log_n), "m": math.exp(log_m)}
        assert a.log_evaluate(sizes) <= b.log_evaluate(sizes) + max(
            12.0, 1e-9 * abs(b.log_evaluate(sizes))
        )
