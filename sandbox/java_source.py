"""Which file a Java source belongs into, and which of its classes has `main`."""

from __future__ import annotations

import re

_JAVA_MAIN = re.compile(
    r"public\s+static\s+void\s+main\b|static\s+public\s+void\s+main\b|static\s+void\s+main\b"
)
_JAVA_TYPE = re.compile(
    r"(?:^|[;{}])\s*((?:(?:public|final|abstract|strictfp)\s+)*)(class|record|enum|interface)\s+"
    r"([A-Za-z_$][\w$]*)",
    re.MULTILINE,
)
_JAVA_PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)
_JAVA_NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)


def java_names(source: str) -> tuple[str, str]:
    """The file name that javac wants for a source, and the class to run.

    >>> java_names("public class Solver { public static void main(String[] a) {} }")
    ('Solver.java', 'Solver')
    """
    text = _JAVA_NOISE.sub(lambda match: " " if match[0][0] == "/" else '""', source)
    package = _JAVA_PACKAGE.search(text)
    prefix = package[1] + "." if package else ""
    types = [(match.start(), match[1], match[3]) for match in _JAVA_TYPE.finditer(text)]
    public = next((name for _, words, name in types if "public" in words), None)
    main = _JAVA_MAIN.search(text)
    before = [name for start, _, name in types if main and start < main.start()]
    outer = public if public and public in before else (before[0] if before else public)
    if "Main" in before:
        outer = "Main"
    return f"{public or outer or 'Main'}.java", prefix + (outer or "Main")
