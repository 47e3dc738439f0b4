"""Samples rollouts of a checkpoint with vLLM, in a process that gives the GPU back when it ends.

    python -m assay.policy.vllm_sampling REQUEST.json ANSWERS.jsonl

vLLM keeps what memory it can get; a stage that filters its problems before it trains would find
none left. Each rank starts a process of its own on its own GPU, so the ranks share the problems.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from assay.errors import AssayError, ConfigError
from assay.policy.data.row_files import read_rows, write_rows
from assay.policy.rollouts import Decoding, end_ids, rendered, rollout_row

#: Variables of a launch over several ranks, which vLLM would take for its own.
_OF_LAUNCH = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK")
_OF_LAUNCHERS = ("ACCELERATE_", "FSDP_", "TORCHELASTIC_", "MASTER_")
_GPUS = "CUDA_VISIBLE_DEVICES"
#: Of the GPU's memory; the rest is what this process has there already.
MEMORY_SHARE = 0.85


def require_vllm() -> None:
    """Refuse where vLLM is not installed.

    Raises:
        ConfigError: It is not.
    """
    if find_spec("vllm") is None:
        raise ConfigError("vllm is set, but vLLM is not installed; pip install vllm, or vllm = off")


def sample_apart(
    model: str | Path, tokenizer: Any, rows: Sequence[Mapping[str, Any]], decoding: Decoding
) -> list[dict[str, Any]]:
    """As `assay.policy.rollouts.generate`, by vLLM in another process.

    Args:
        model: Folder or hub id of a whole model.
        tokenizer: Its tokenizer.
        rows: With `prompt` as messages; other columns are copied, `tools` go to the template.
        decoding: How to sample; `batch_size` is vLLM's own affair.

    Raises:
        ConfigError: vLLM is not installed.
        AssayError: The process ended without the completions; says its last lines.
    """
    from transformers import GenerationConfig

    require_vllm()
    if not rows:
        return []
    try:
        configured = GenerationConfig.from_pretrained(str(model))
    except OSError:
        configured = GenerationConfig()  # type: ignore[no-untyped-call]
    ends = end_ids(configured, tokenizer)
    prompts = [tokenizer(rendered(row, tokenizer), add_special_tokens=False) for row in rows]
    request = {
        "model": str(model),
        "prompts": [list(prompt["input_ids"]) for prompt in prompts],
        "ends": sorted(ends),
        "decoding": vars(decoding),
        "memory_share": MEMORY_SHARE,
    }
    with tempfile.TemporaryDirectory(prefix="assay-vllm-") as folder:
        asked, answers = Path(folder) / "request.json", Path(folder) / "answers.jsonl"
        asked.write_text(json.dumps(request), encoding="utf-8")
        _run([str(asked), str(answers)], answers)
        found = [row["completions"] for row in read_rows(answers)]
    if len(found) != len(rows) or any(len(some) != decoding.n for some in found):
        raise AssayError(
            f"vLLM gave {sum(map(len, found))} completions of {len(found)} prompts, not "
            f"{decoding.n} of each of {len(rows)}; look at its output above"
        )
    return [
        rollout_row(row, ids, ends, tokenizer)
        for row, completions in zip(rows, found, strict=True)
        for ids in completions
    ]


def _run(arguments: Sequence[str], answers: Path) -> None:
    """Run this module by itself, its output shown as it comes."""
    command = [sys.executable, "-m", "assay.policy.vllm_sampling", *arguments]
    last: deque[str] = deque(maxlen=5)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=_environment()
    ) as process:
        try:
            for line in process.stdout or ():
                sys.stderr.write(line)
                last.append(line.strip())
        except BaseException:
            process.kill()
            raise
    if process.returncode or not answers.is_file():
        raise AssayError(
            f"sampling with vLLM ended with code {process.returncode}: {' | '.join(last)}"
        )


def _environment() -> dict[str, str]:
    """This process's variables without the launch's, and with this rank's GPU alone."""
    own = int(os.environ.get("LOCAL_RANK", "0"))
    given = [name for name in os.environ.get(_GPUS, "").split(",") if name]
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in _OF_LAUNCH and not name.startswith(_OF_LAUNCHERS)
    }
    return kept | {_GPUS: given[own % len(given)] if given else str(own)}


def main(arguments: Sequence[str]) -> None:
    """Sample what the first file asks for; the second one gets a row of token ids a prompt."""
    from vllm import LLM, SamplingParams

    request = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    decoding = Decoding(**request["decoding"])
    prompts = [{"prompt_token_ids": ids} for ids in request["prompts"]]
    longest = max(map(len, request["prompts"]))
    model = LLM(
        model=request["model"],
        dtype="bfloat16",
        max_model_len=longest + decoding.max_new_tokens,
        gpu_memory_utilization=request["memory_share"],
        seed=decoding.seed,
    )
    greedy = decoding.temperature == 0  # vLLM refuses several completions that must be equal
    sampling = SamplingParams(
        n=1 if greedy else decoding.n,
        temperature=decoding.temperature,
        top_p=decoding.top_p,
        max_tokens=decoding.max_new_tokens,
        stop_token_ids=request["ends"],
        seed=decoding.seed,
    )
    times = decoding.n if greedy else 1
    outputs = model.generate(prompts, sampling)
    found = ([list(one.token_ids) for one in output.outputs] * times for output in outputs)
    write_rows(Path(arguments[1]), ({"completions": some} for some in found))


if __name__ == "__main__":
    main(sys.argv[1:])
