"""Data of the ablation `trajectories`: the miniature's, with its episodes in three forms.

Question-answer pairs only, unfiltered trajectories, and trajectories whose failing turns a critic
keeps out of the loss.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def prepare(folder: Path, seed: int) -> dict[str, Any]:
    """What `examples.miniature.prepare` writes, and `sft_*.jsonl` with episodes in each form."""
    from assay.judges.turn_critic import RuleCritic
    from assay.policy.data.row_files import read_rows, write_rows
    from assay.policy.data.supervised import supervised_rows
    from assay.policy.data.trajectories import read_trajectory
    from examples.miniature import prepare as miniature

    counts = miniature(folder, seed)
    rows = list(read_rows(folder / "sft.jsonl"))
    episodes = [row for row in rows if "messages" in row]
    answers = [
        {"prompt": row["messages"][0]["content"], "completion": row["messages"][-1]["content"]}
        for row in episodes
    ]
    filtered = list(
        supervised_rows([read_trajectory(row) for row in episodes], RuleCritic(), form="openai")
    )
    masked = sum(
        message["role"] == "assistant" and not message["loss"]
        for row in filtered
        for message in row["conversations"]
    )
    for name, made in (("answers", answers), ("trajectories", episodes), ("filtered", filtered)):
        left = iter(made)
        mixed = [next(left) if "messages" in row else row for row in rows]
        write_rows(folder / f"sft_{name}.jsonl", mixed)
    return counts | {"episodes": len(episodes), "turns out of the loss": masked, "seed": seed}


def main() -> None:
    """Write them into a folder given on the command line."""
    import sys

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    print(json.dumps(prepare(folder, 0)))


if __name__ == "__main__":
    main()
