"""Whether a program parses: one check for rewards and judges; nothing is run.

Python is decided by this interpreter's own `compile`, which knows what tree-sitter lets through
(Python 2's `print x`, broken indentation, `return` outside a function) and lets through nothing
that Python would refuse to run. Every other language is decided by its tree-sitter grammar: a
program parses when its tree holds no error and no missing token.
"""

from __future__ import annotations

import importlib
import platform
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

#: Module of each language's grammar.
GRAMMARS: dict[str, str] = {
    "python": "tree_sitter_python",
    "c": "tree_sitter_c",
    "cpp": "tree_sitter_cpp",
    "java": "tree_sitter_java",
    "javascript": "tree_sitter_javascript",
    "go": "tree_sitter_go",
    "rust": "tree_sitter_rust",
}

_FILE = "<assay answer>"


def require_language(language: str) -> None:
    """Check that `language` can be parsed here.

    Raises:
        ConfigError: A language without a grammar in this library.
        ImportError: Its grammar is not installed; names the pip command.

    >>> require_language("python")
    >>> require_language("cobol")
    Traceback (most recent call last):
    assay.errors.ConfigError: language must be one of {'c', 'cpp', 'go', 'java', 'javascript', \
'python', 'rust'}, got 'cobol'
    """
    if not isinstance(language, str) or language not in GRAMMARS:
        known = ", ".join(repr(name) for name in sorted(GRAMMARS))
        raise ConfigError(f"language must be one of {{{known}}}, got {language!r:.80}")
    if language != "python":
        grammar(language)


def parses(code: str, language: str) -> tuple[bool, str]:
    """Whether `code` is a program of `language` without syntax errors, and if not why.

    A text without any statement (empty, white space, comments only) is no program.

    Args:
        code: Source text.
        language: One of `GRAMMARS`.

    Returns:
        `(True, "")`, or False and a reason with `line L, column C`, both from 1, where there is
        one place to name.

    Raises:
        ConfigError: Unknown language.
        ImportError: The grammar is not installed; names the pip command.

    Source: tree-sitter (a parse without error nodes). Departure: for Python, the verdict is
    the interpreter's.

    >>> parses("x = 1", "python")
    (True, '')
    >>> parses("x = (1", "python")
    (False, "line 1, column 5: '(' was never closed")
    >>> parses("# nothing yet", "python")
    (False, 'no code, only white space or comments')
    """
    require_language(language)
    if not code.strip():
        return False, "the code is empty"
    return _parses_python(code) if language == "python" else _parses_tree(code, language)


def parser_version(language: str) -> str:
    """Version of what decides for `language`: the Python interpreter, or the grammar's package."""
    if language == "python":
        return platform.python_version()
    from importlib.metadata import version

    return version(GRAMMARS[language].replace("_", "-"))


def tree_of(code: str, language: str) -> Tree:
    """The tree-sitter tree of `code`; offsets in it count UTF-8 bytes.

    >>> tree_of("x = 1", "python").root_node.type
    'module'
    """
    require_language(language)
    from tree_sitter import Parser

    parser: Parser = Parser(grammar(language))
    return parser.parse(code.encode("utf-8", "replace"))


def _parses_python(code: str) -> tuple[bool, str]:
    lines = (line.lstrip() for line in code.splitlines())
    if all(not line or line.startswith("#") for line in lines):
        return False, "no code, only white space or comments"
    _ignore_warnings()
    try:
        compile(code, _FILE, "exec", dont_inherit=True)
    except SyntaxError as error:
        where = f"line {error.lineno}, column {error.offset or 1}: " if error.lineno else ""
        return False, f"{where}{error.msg[:200]}"
    except (MemoryError, RecursionError, OverflowError, SystemError):
        return False, "nested too deeply for Python's parser"
    except ValueError as error:  # null bytes, lone surrogates
        return False, str(error)
    return True, ""


def _ignore_warnings() -> None:
    r"""Keep Python's warnings about the code itself (`"\d"`, `x is 1`) quiet.

    One filter for our pseudo-file, put in front where it is not: `catch_warnings` around `compile`
    would change the filters of every other thread as well.
    """
    first = warnings.filters[0] if warnings.filters else None
    if first is None or getattr(first[3], "pattern", None) != _FILE:
        warnings.filterwarnings("ignore", module=_FILE)


def _parses_tree(code: str, language: str) -> tuple[bool, str]:
    if "\0" in code:
        return False, "the code holds null bytes"
    root = tree_of(code, language).root_node
    if root.has_error:
        row, column, what = _first_error(root, code)
        return False, f"line {row + 1}, column {column + 1}: {what}"
    if all("comment" in child.type for child in root.children):
        return False, "no code, only white space or comments"
    return True, ""


def _first_error(root: Node, code: str) -> tuple[int, int, str]:
    """Row and column (characters) of the first error node, and what it is."""
    node = root
    while not (node.is_error or node.is_missing):
        broken = (child for child in node.children if child.has_error or child.is_missing)
        child = next(broken, None)
        if child is None:
            break
        node = child
    row, byte_column = node.start_point
    line = code.encode("utf-8", "replace").split(b"\n")[row]
    column = len(line[:byte_column].decode("utf-8", "replace"))
    if node.is_missing:
        return row, column, f"{node.type!r} is missing"
    return row, column, "syntax error"


@cache
def grammar(language: str) -> Any:
    """The tree-sitter grammar of a language, loaded once.

    Raises:
        ImportError: Its package is not installed; names the pip command.
    """
    try:
        module = importlib.import_module(GRAMMARS[language])
    except ModuleNotFoundError:
        raise ImportError(
            f"parsing {language} needs its tree-sitter grammar ({GRAMMARS[language]}); "
            'install it with: pip install "assay[complexity]"'
        ) from None
    from tree_sitter import Language

    return Language(module.language())
