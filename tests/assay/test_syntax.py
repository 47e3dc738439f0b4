from __future__ import annotations

import os
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assay import syntax
from assay.errors import ConfigError
from assay.syntax import GRAMMARS, parser_version, parses, require_language, tree_of

#: A program, and one that breaks in a known place, for each language beside Python.
PROGRAMS = {
    "c": ("int main(void) { return 0; }", "int main(void) {\n  return 0\n}", "line 2, column 11"),
    "cpp": ("template <class T> T f(T a) { return a; }", "int x = ;", "line 1, column"),
    "java": ("class A { int x = 1; }", "class A { int x = 1 }", "line 1, column 20"),
    "javascript": ("const é = (1);", "const é = (1;", "line 1, column 13"),
    "go": ("package main\n\nfunc main() {}", "package main\nfunc main( {}", "line 2, column"),
    "rust": ("fn main() { let x = 1; }", "fn main() { let x = 1 }", "line 1, column 22"),
}


def grammar(language: str) -> None:
    pytest.importorskip(GRAMMARS[language], reason=f"no grammar of {language} installed")


# Python


@pytest.mark.parametrize(
    "code",
    [
        "x = 1",
        "def f(n: int) -> int:\n    return n\n",
        "match x:\n    case [1, *_]: pass",
        "async def f():\n    async with a as b, c: await d",
        "print(f'{x!r:>{w}}')",
        "é = 'ü'",
        "x = 1\r\ny = 2\r\n",
        "# comment\n\nx = 1",
        '"""docstring only"""',
        "pass",
    ],
)
def test_python_that_parses(code: str) -> None:
    assert parses(code, "python") == (True, "")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("x = (1", "line 1, column 5: '(' was never closed"),
        ("x = 1\ny = = 2", "line 2, column 5: invalid syntax"),
        ("print x", "line 1, column 1: Missing parentheses"),
        ("exec 'x'", "Missing parentheses"),
        ("raise E, 'x'", "line 1"),
        ("x = 1\n  y = 2", "line 2"),
        ("def f():\nreturn 1", "line 2, column 1: expected an indented block"),
        ("return 1", "'return' outside function"),
        ("    return x", "line 1"),
        ("x = 08", "line 1"),
        ("'open", "unterminated string"),
        ("a\0b", "null bytes"),
        ("x = '\ud800'", "surrogates not allowed"),
        ("This is prose.", "line 1"),
        ("x = " + "9" * 5000, "4300 digits"),
    ],
)
def test_python_that_does_not_parse(code: str, reason: str) -> None:
    parsed, why = parses(code, "python")
    assert not parsed
    assert reason in why
    assert len(why) < 300


@pytest.mark.parametrize("code", ["", " \n\t\n", "\f"])
def test_an_empty_text_is_no_program(code: str) -> None:
    assert parses(code, "python") == (False, "the code is empty")


def test_comments_alone_are_no_program() -> None:
    reason = "no code, only white space or comments"
    assert parses("# TODO\n\n   # later", "python") == (False, reason)


DEEP = {
    "brackets": "[" * 100_000 + "]" * 100_000,
    "open brackets": "(" * 300_000,
    "minus": "-" * 500_000 + "1",
    "not": "not " * 100_000 + "1",
    "sum": "+".join(["a"] * 100_000),
    "attributes": "a" + ".b" * 100_000,
    "calls": "a" + "()" * 100_000,
    "lambda": "lambda: " * 50_000 + "1",
    "powers": "**".join(["a"] * 50_000),
    "conditions": "a if b else " * 50_000 + "c",
    "elif": "if a: pass\n" + "elif a: pass\n" * 20_000,
    "indents": "".join(" " * i + "if a:\n" for i in range(200)) + " " * 200 + "pass",
    "f-strings": "f'" + "{x!r:" * 500 + "}" * 500 + "'",
    "unary in call": "f(" * 5_000 + ")" * 5_000,
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("code", DEEP.values(), ids=list(DEEP))
def test_deep_nesting_is_refused_and_harms_nobody(code: str) -> None:
    parsed, reason = parses(code, "python")
    assert not parsed
    assert reason


@pytest.mark.parametrize("code", ["x = 2 ** 10 ** 10 ** 10", "x = 'a' * 10 ** 12", "1 / 0"])
def test_constants_are_not_computed(code: str) -> None:
    assert parses(code, "python") == (True, "")


def test_nothing_is_run(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    code = f"import os\nos.system('touch {trace}')\nopen({str(trace)!r}, 'w')\nimport antigravity"
    modules = set(sys.modules)
    assert parses(code, "python") == (True, "")
    assert not trace.exists()
    assert set(sys.modules) == modules


WARNING = "x = '\\d'\nif x is 1: pass\nassert (x, 'always true')"


def test_warnings_about_the_code_are_not_ours_to_show(recwarn: pytest.WarningsRecorder) -> None:
    assert parses(WARNING, "python") == (True, "")
    assert not recwarn.list


def test_warnings_turned_into_errors_do_not_change_the_verdict() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parses(WARNING, "python") == (True, "")
        with pytest.raises(SyntaxError):
            compile(WARNING, "theirs", "exec")  # other code keeps its filters


def test_threads() -> None:
    codes = [WARNING, "x = (", "print x", "x = 1"] * 50
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda code: parses(code, "python")[0], codes))
    assert found == [True, False, False, True] * 50


@pytest.mark.parametrize("module", [os.__file__, warnings.__file__, __file__])
def test_real_modules_parse_in_both_parsers(module: str) -> None:
    code = Path(module).read_text()
    assert parses(code, "python") == (True, "")
    assert not tree_of(code, "python").root_node.has_error


# Other languages


@pytest.mark.parametrize("language", PROGRAMS)
def test_programs_of_other_languages(language: str) -> None:
    grammar(language)
    good, bad, where = PROGRAMS[language]
    assert parses(good, language) == (True, "")
    parsed, reason = parses(bad, language)
    assert not parsed
    assert where in reason
    assert parses("", language) == (False, "the code is empty")
    assert parses("// one\n/* two */", language)[1] == "no code, only white space or comments"
    assert parses(good + "\0", language) == (False, "the code holds null bytes")
    assert not parses("Here is the program you asked for.", language)[0]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("language", PROGRAMS)
def test_hostile_text_of_other_languages(language: str) -> None:
    grammar(language)
    for code in ("(" * 100_000, "}" * 100_000, "x = = ( \n" * 10_000, "\ud800{"):
        assert not parses(code, language)[0]


def test_a_missing_grammar_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    syntax.grammar.cache_clear()
    with pytest.raises(ImportError, match=r'pip install "assay\[complexity\]"'):
        require_language("go")
    syntax.grammar.cache_clear()


@pytest.mark.parametrize("language", ["cobol", "Python", ""])
def test_an_unknown_language_lists_the_known_ones(language: str) -> None:
    with pytest.raises(ConfigError, match=r"language must be one of \{'c', 'cpp', 'go', 'java'"):
        parses("x", language)


def test_versions_are_told() -> None:
    assert parser_version("python") == sys.version.split()[0]
    grammar("go")
    assert parser_version("go")[0].isdigit()
