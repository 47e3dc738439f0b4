from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.fenced_code import ALIASES, CodeBlock, Extraction, code_blocks, extract_code


def block(code: str, tag: str = "python", fence: str = "```") -> str:
    return f"{fence}{tag}\n{code}\n{fence}"


# Blocks


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no block", []),
        ("", []),
        ("```python\nx\n```", [("python", "x", True)]),
        ("```\nx\n```", [("", "x", True)]),
        ("~~~py\nx\n~~~", [("py", "x", True)]),
        ("````md\n```python\nx\n```\n````", [("md", "```python\nx\n```", True)]),
        ("```python\nx\n~~~\ny\n```", [("python", "x\n~~~\ny", True)]),
        ("```python\nx\n`````", [("python", "x", True)]),  # a longer fence closes
        ("````python\nx\n```", [("python", "x\n```", False)]),  # a shorter one does not
        ("```python\nx", [("python", "x", False)]),
        ("```python", [("python", "", False)]),
        ("```python\n```", [("python", "", True)]),
        ("```python\r\nx\r\n```\r\n", [("python", "x", True)]),
        ("``` Python \nx\n```", [("python", "x", True)]),
        ('```python title="a.py"\nx\n```', [("python", "x", True)]),
        ("```{.python .numberLines}\nx\n```", [("python", "x", True)]),
        ("```C++\nx\n```", [("c++", "x", True)]),
        ("```python print(1)```", []),  # inline code, not a fence
        ("say ```python\nx\n```", [("", "", False)]),  # a fence begins its line
        ("```python\nx\n``` end\n```", [("python", "x\n``` end", True)]),
        ("```python\nx\n    ```\ny\n```", [("python", "x\n    ```\ny", True)]),  # a docstring's
        ("  ```python\n  x\n     ```", [("python", "x", True)]),
        ("```a\n1\n```\n```b\n2\n```", [("a", "1", True), ("b", "2", True)]),
    ],
)
def test_blocks(text: str, expected: list[tuple[str, str, bool]]) -> None:
    assert code_blocks(text) == [CodeBlock(*item) for item in expected]


def test_the_indent_of_the_fence_is_taken_off_the_code() -> None:
    text = "1. List:\n   ```python\n   if x:\n       y\n\n  z\n   ```"
    assert code_blocks(text)[0].code == "if x:\n    y\n\n  z"


def test_blank_lines_and_trailing_spaces_stay() -> None:
    assert code_blocks("```\n\na \n\n```")[0].code == "\na \n"


@pytest.mark.timeout(30)
@pytest.mark.parametrize("unit", ["```\n", "`", "~~~ \n", "```python\nx\n", " ", "\n", "    ```"])
def test_a_hostile_megabyte_is_read(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    assert sum(len(b.code) for b in code_blocks(text)) <= len(text)


@given(st.text(alphabet="`~\n p \r\t"))
def test_any_text_can_be_read(text: str) -> None:
    blocks = code_blocks(text)
    assert all(b.closed for b in blocks[:-1])
    extract_code(text, "python", bare=True)


@given(st.text(st.characters(exclude_characters="`~\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")))
def test_code_comes_back_as_it_was(line: str) -> None:
    code = f"{line}\n{line}"
    assert extract_code(f"Look:\n{block(code)}\nDone.", "python").code == code


# Which block counts


def test_the_last_block_of_the_language_counts_and_the_note_says_so() -> None:
    text = "\n".join([block("a"), block("b", "cpp"), block("c"), block("d", "")])
    found = extract_code(text, "python")
    assert found == Extraction("c", 2, True, True, "2 python blocks, the last one counts")


def test_else_the_last_untagged_block() -> None:
    text = "\n".join([block("a", ""), block("b", ""), block("c", "cpp")])
    assert extract_code(text, "python") == Extraction("b", 0, True, False, "untagged block")


def test_only_other_languages() -> None:
    found = extract_code(block("a", "cpp") + "\n" + block("b", "bash"), "python")
    assert found == Extraction(None, 0, False, False, "no python block, only bash, cpp")


def test_an_unclosed_block_is_code_but_not_closed() -> None:
    found = extract_code("```python\nx = 1", "python")
    assert (found.code, found.closed, found.note) == ("x = 1", False, "the block is not closed")
    found = extract_code(f"{block('a')}\n```python\nb", "python")
    assert found.note == "2 python blocks, the last one counts; the block is not closed"
    assert found.code == "b"


def test_no_block() -> None:
    assert extract_code("x = 1", "python") == Extraction(None, 0, False, False, "no code block")
    assert extract_code("x = 1", "python", bare=True).code == "x = 1"
    assert extract_code("x = 1", "python", bare=True).closed
    assert extract_code(" \n", "python", bare=True).code is None
    assert extract_code(block("x", "cpp"), "python", bare=True).code is None


@pytest.mark.parametrize(
    ("language", "tag"), [(name, tag) for name, tags in ALIASES.items() for tag in sorted(tags)]
)
def test_every_alias(language: str, tag: str) -> None:
    assert extract_code(block("x", tag.upper()), language).tagged


def test_a_language_without_aliases_is_known_by_its_own_name() -> None:
    assert extract_code(block("x", "zig"), "zig").code == "x"
    assert extract_code(block("x", "c++"), "c").code is None
