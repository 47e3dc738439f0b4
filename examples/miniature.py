"""Everything that the recipe `tiny` trains on, made on the spot: a Llama, its tokenizer, its data.

    assay train tiny

The base model has random weights and about a million parameters. Fine-tuning teaches it to answer
three kinds of prompt, each with good and bad answers: programs for some of the problems in
`examples.problems` (optimal, slow, wrong and broken ones), names for problems (short, wordy,
endless and empty ones), and tasks with a tool (`examples.miniature_agent`). RL then has something
to prefer. Rewards, sandbox, complexity judge and reward models are the library's own.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from examples.problems import Problem

#: Problems whose shortest solutions are short enough for a model of this size.
CODE = (
    "lamps_left_on",
    "triangle_number",
    "common_measure",
    "distinct_values",
    "divisor_count",
    "prime_test",
)
#: How often each kind of program is fine-tuned on: mostly not optimal, so that RL has work.
PROGRAMS = {"optimal": 4, "slow": 8, "wrong": 6, "broken": 2}
#: How often each kind of name is.
NAMES = {"short": 2, "wordy": 3, "endless": 3, "empty": 1}
#: Preferences between names, better first.
RANKS = ("short", "wordy", "empty", "endless")


def prepare(folder: Path, seed: int) -> dict[str, Any]:
    """Write `base/` (model and tokenizer) and the rows of every stage; returns counts."""
    from examples.miniature_agent import agent_conversations, agent_rows, tasks
    from examples.problems import load

    coins = random.Random(seed)
    problems = {problem.uid: problem for problem in load()}
    code = [problems[uid] for uid in CODE]
    others = [problem for uid, problem in problems.items() if uid not in CODE]
    coins.shuffle(others)
    named, held = [*code, *others[:4]], others[4:8]
    chats = agent_conversations(tasks(32, seed))
    rows: list[dict[str, Any]] = [*program_rows(code), *name_rows(named)]
    plain = [row["prompt"] + row["completion"] for row in rows]
    draft = build_tokenizer(plain)  # renders the conversations that the real one is trained on
    shown = [draft.apply_chat_template(c["messages"], c["tools"], tokenize=False) for c in chats]
    tokenizer = build_tokenizer([*plain, *shown])
    rows += chats
    model = build_model(tokenizer, seed)
    model.save_pretrained(folder / "base")
    tokenizer.save_pretrained(folder / "base")
    counts = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "vocabulary": len(tokenizer),
    }
    files: dict[str, Iterable[Mapping[str, Any]]] = {
        "sft": in_batches(rows, coins),
        "preferences": preference_rows([*named, *held], coins),
        "names": name_prompts(named),
        "held_names": name_prompts(held),
        "code": code_rows(code),
        "agent": agent_rows(tasks(16, seed + 1)),
    }
    for name, content in files.items():
        lines = [json.dumps(row) + "\n" for row in content]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
        counts[name] = len(lines)
    return counts


def programs(problem: Problem) -> dict[str, str]:
    """One short answer of each kind: optimal, slow, wrong, broken."""
    python = [s for s in problem.solutions if s.language == "python"]
    best = problem.optimal.complexity
    kinds = {
        "optimal": [s for s in python if s.kind == "right" and s.complexity == best],
        "slow": [s for s in python if s.kind == "right" and s.complexity != best],
        "wrong": [s for s in python if s.kind == "wrong"],
    }
    found = {kind: min((s.source for s in some), key=len) for kind, some in kinds.items()}
    answers = {kind: f"```python\n{source.strip()}\n```" for kind, source in found.items()}
    source = found["optimal"].strip()
    answers["broken"] = f"```python\n{source[: len(source) // 2]}(\n```"
    return answers


def program_rows(problems: Iterable[Problem]) -> list[dict[str, str]]:
    """Fine-tuning rows for code, each kind of program as often as `PROGRAMS` says."""
    return [
        {"prompt": code_prompt(problem), "completion": programs(problem)[kind]}
        for problem in problems
        for kind, times in PROGRAMS.items()
        for _ in range(times)
    ]


def names(problem: Problem) -> dict[str, str]:
    """One answer of each kind to the question what a problem is called."""
    name = problem.uid.replace("_", " ").capitalize() + "."
    return {
        "short": name,
        "wordy": f"Well, it could be called many things, and I would say: {name}",
        "endless": " ".join([name] * 16),
        "empty": "I do not know.",
    }


def name_rows(problems: Iterable[Problem]) -> list[dict[str, str]]:
    """Fine-tuning rows for names, each kind of answer as often as `NAMES` says."""
    return [
        {"prompt": name_prompt(problem), "completion": names(problem)[kind]}
        for problem in problems
        for kind, times in NAMES.items()
        for _ in range(times)
    ]


def in_batches(
    rows: Iterable[dict[str, Any]],
    coins: random.Random,
    size: int = 4,
    passes: int = 4,
    pool: int = 8,
) -> list[dict[str, Any]]:
    """Rows in the order of training: batches of like length need little padding.

    Only the rows of a pool are sorted: were all, the same row would fill its batch, and a model
    learns little from that.

    Args:
        rows: Fine-tuning rows.
        coins: Shuffle.
        size: Rows a batch; a pass leaves out what does not fill one.
        passes: How often the rows are shuffled anew before the order repeats.
        pool: Batches made of the same sorted rows.
    """
    found = []
    for _ in range(passes):
        mixed = list(rows)
        coins.shuffle(mixed)
        mixed = mixed[: len(mixed) - len(mixed) % size]
        batches = []
        for start in range(0, len(mixed), size * pool):
            near = sorted(mixed[start : start + size * pool], key=lambda row: len(json.dumps(row)))
            batches += [near[i : i + size] for i in range(0, len(near), size)]
        coins.shuffle(batches)
        found += [row for batch in batches for row in batch]
    return found


def preference_rows(problems: Iterable[Problem], coins: random.Random) -> list[dict[str, Any]]:
    """Pairs of names; endless ones of several lengths, as a cut rollout looks."""
    rows = []
    for problem in problems:
        answers = names(problem)
        for better, worse in ((a, b) for i, a in enumerate(RANKS) for b in RANKS[i + 1 :]):
            pair = [answers[better], answers[worse]]
            if worse == "endless":
                name = answers["short"]
                pair[1] = " ".join([name] * coins.randint(3, 12))
            rows.append(
                {
                    "prompt": [{"role": "user", "content": name_prompt(problem)}],
                    "chosen": [{"role": "assistant", "content": pair[0]}],
                    "rejected": [{"role": "assistant", "content": pair[1]}],
                }
            )
    coins.shuffle(rows)
    return rows


def name_prompts(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """RL prompts for names, with the wordy answer to beat."""
    return [
        {
            "uid": f"name/{problem.uid}",
            "prompt": [{"role": "user", "content": name_prompt(problem)}],
            "reference": names(problem)["wordy"],
        }
        for problem in problems
    ]


def code_rows(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """RL prompts for code, with tests, optimum and bounds."""
    from examples.problems import rows

    found = {row["uid"]: row for row in rows()}
    return [
        found[problem.uid]
        | {
            "prompt": [{"role": "user", "content": code_prompt(problem)}],
            "uid": f"code/{problem.uid}",
        }
        for problem in problems
    ]


def code_prompt(problem: Problem) -> str:
    """What the policy is asked for a program; the name alone, so that prompts are short."""
    return f"Program: {problem.uid.replace('_', ' ')}"


def name_prompt(problem: Problem) -> str:
    """What the policy is asked for a name."""
    return "Name: " + " ".join(problem.statement.split()[:8])


def build_tokenizer(texts: Iterable[str], vocab_size: int = 768) -> Any:
    """A byte-level BPE tokenizer with the special tokens and the chat template of the 3B model."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    from assay.policy.chat import CONTROL_TOKENS, SPECIAL_TOKENS, chat_template

    bpe = ByteLevelBPETokenizer()
    roles = ["system\n", "user\n", "assistant\n"] * 20
    bpe.train_from_iterator(
        [*texts, *roles], vocab_size=vocab_size, special_tokens=list(CONTROL_TOKENS)
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe._tokenizer,
        unk_token="<unk>",
        pad_token="<unk>",
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
    )
    tokenizer.add_tokens([token for token in SPECIAL_TOKENS if token not in CONTROL_TOKENS])
    tokenizer.chat_template = chat_template()
    return tokenizer


def build_model(tokenizer: Any, seed: int) -> Any:
    """A Llama of about a million parameters with random weights, shaped like the 3B model."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=128,
            intermediate_size=640,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=1024,
            tie_word_embeddings=False,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
