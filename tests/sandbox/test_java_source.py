import pytest

from assay.sandbox.java_source import java_names


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("public class Main { public static void main(String[] a) {} }", ("Main.java", "Main")),
        ("class A {} class B { public static void main(String[] a) {} }", ("A.java", "A")),
        (
            "public class Solver { static class X {} public static void main(String[] a) {} }",
            ("Solver.java", "Solver"),
        ),
        (
            "package p.q;\npublic class S { public static void main(String[] a) {} }",
            ("S.java", "p.q.S"),
        ),
        (
            "// public class Fake {}\nclass Main { public static void main(String[] a) {} }",
            ("Main.java", "Main"),
        ),
        (
            'class Main { String s = "public class X {"; public static void main(String[] a) {} }',
            ("Main.java", "Main"),
        ),
        (
            "class Helper {}\nclass Main { public static void main(String[] a) {} }",
            ("Main.java", "Main"),
        ),
        ("not java", ("Main.java", "Main")),
        ("package a; public class A { int x; }", ("A.java", "a.A")),
    ],
)
def test_names(source, expected):
    assert java_names(source) == expected
