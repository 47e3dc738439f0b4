"""A stage whose ranks call tools unequally often: `python -m tests.policy.stages.uneven_rollouts`.

Rank 0 looks twice in half of its rollouts, rank 1 never. Every generation is made by the sharded
model, then what it said is written over.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from trl import GRPOTrainer

from tests.policy.stages import sharded_stage

generated = GRPOTrainer._generate_single_turn


def scripted(trainer: Any, prompt_ids: Any, *args: Any, **kwargs: Any) -> Any:
    """What a real generation would have taken, and the script's text."""
    ids, logprobs = generated(trainer, prompt_ids, *args, **kwargs)
    assert len(ids) == len(prompt_ids)
    texts = [trainer.processing_class.decode(prompt) for prompt in prompt_ids]
    said = []
    for row, text in enumerate(texts):
        looks = text.count('"left":')
        if trainer.accelerator.process_index or row % 2 or looks == 2 or "How many" not in text:
            said.append("0.")
        else:
            item = text.split("How many ")[-1].split(" ")[0]
            call = {"name": "look", "arguments": {"item": item}}
            said.append(f"<tool_call>\n{json.dumps(call)}\n</tool_call>")
    ended = [text + trainer.processing_class.eos_token for text in said]
    return trainer.processing_class(ended, add_special_tokens=False)["input_ids"], logprobs


if __name__ == "__main__":
    GRPOTrainer._generate_single_turn = scripted
    sharded_stage.main(sys.argv[1:])
