from __future__ import annotations

import sys

import pytest

from assay import syntax
from assay.errors import ConfigError
from assay.messages import Sample
from assay.rewards import CodeFormat, Score
from tests.rewards.contract import check_contract
from tests.samples import sample

GOOD = "```python\nx = 1\n```"
BAD = "```python\nx = (\n```"
UNTAGGED = "```\nx = 1\n```"
UNCLOSED = "```python\nx = 1"
EMPTY = "```python\n\n```"


def score(answer: str, **settings: bool) -> Score:
    return CodeFormat(**settings).evaluate([sample(answer)])[0]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "value", "graded", "passed", "note"),
    [
        (GOOD, 1.0, 1.0, True, ""),
        (f"Sure!\n{GOOD}\nDone.", 1.0, 1.0, True, ""),
        (f"{GOOD}\n```bash\npip install x\n```", 1.0, 1.0, True, ""),
        (f"{GOOD}\n{GOOD}", 0.0, 0.5, True, "2 python blocks, the last one counts"),
        (f"{BAD}\n{GOOD}", 0.0, 0.5, True, "2 python blocks, the last one counts"),
        (f"{GOOD}\n{BAD}", 0.0, 0.0, False, "the last one counts; line 1, column 5"),
        (UNTAGGED, 0.0, 0.5, True, "untagged block"),
        (UNCLOSED, 0.0, 0.5, True, "the block is not closed"),
        (BAD, 0.0, 0.0, False, "line 1, column 5: '(' was never closed"),
        (EMPTY, 0.0, 0.0, False, "the code is empty"),
        ("```python", 0.0, 0.0, False, "the code is empty"),
        ("```python\n# nothing\n```", 0.0, 0.0, False, "only white space or comments"),
        ("```python\nprint x\n```", 0.0, 0.0, False, "Missing parentheses"),
        ("```cpp\nint x;\n```", 0.0, 0.0, False, "no python block, only cpp"),
        ("x = 1", 0.0, 0.0, False, "no code block"),
        ("", 0.0, 0.0, False, "no code block"),
        (f"<think>{GOOD}</think>\nno code", 0.0, 0.0, False, "no code block"),
        (f"<think>{BAD}</think>\n{GOOD}", 1.0, 1.0, True, ""),
        (f"<think>{GOOD}", 0.0, 0.0, False, "no code block"),
    ],
)
def test_values(answer: str, value: float, graded: float, passed: bool, note: str) -> None:
    found = score(answer)
    assert (found.value, found.passed) == (value, passed)
    assert note in found.note
    assert bool(note) == bool(found.note)
    assert score(answer, graded=True).value == graded
    assert score(answer, graded=True).passed is passed


def test_bare_code_counts_fully_where_it_is_asked_for() -> None:
    assert score("x = 1", bare=True) == Score.of(1.0, passed=True, note="bare code")
    assert score("It is x.", bare=True).value == 0.0
    assert score("", bare=True).passed is False
    assert score(UNTAGGED, bare=True).value == 0.0
    assert score(GOOD, bare=True).value == 1.0


def test_the_last_assistant_turn_is_read() -> None:
    turns = [
        {"role": "assistant", "content": BAD},
        {"role": "tool", "content": BAD},
        {"role": "assistant", "content": GOOD},
    ]
    assert CodeFormat().evaluate([sample(turns)])[0].value == 1.0
    assert CodeFormat().evaluate([sample([])])[0].value == 0.0


def test_prefilled_think() -> None:
    prompt = "Write code.\n<think>\n"
    values = CodeFormat()(
        completions=[f"hm</think>\n{GOOD}", GOOD, f"hm {GOOD}"], prompts=[prompt] * 3
    )
    assert values == [1.0, 0.0, 0.0]  # without </think> all of it is reasoning


def test_other_languages() -> None:
    pytest.importorskip("tree_sitter_cpp", reason="no grammar of cpp installed")
    reward = CodeFormat(language="cpp")
    texts = ["```c++\nint x;\n```", "```cpp\nint x = ;\n```", GOOD]
    assert reward(completions=texts) == [1.0, 0.0, 0.0]


def test_unknown_language() -> None:
    with pytest.raises(ConfigError, match="language must be one of"):
        CodeFormat(language="cobol")


def test_a_missing_grammar_is_said_when_the_reward_is_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_rust", None)
    syntax.grammar.cache_clear()
    with pytest.raises(ImportError, match=r'parsing rust .* pip install "assay\[complexity\]"'):
        CodeFormat(language="rust")
    syntax.grammar.cache_clear()


def test_fingerprint_tells_settings_apart() -> None:
    prints = {CodeFormat(**s).fingerprint() for s in ({}, {"graded": True}, {"bare": True})}  # type: ignore[arg-type]
    assert len(prints) == 3


def test_contract() -> None:
    answers = [GOOD, BAD, UNTAGGED, UNCLOSED, EMPTY, f"{GOOD}\n{GOOD}", ""]
    samples = [Sample.of("q", answer) for answer in answers]
    check_contract(CodeFormat(graded=True), samples)
