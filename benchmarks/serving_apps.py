"""The programs that `benchmarks/serving.py` starts: ours, and what it is compared with.

    python benchmarks/serving_apps.py echo|assay|openrlhf PORT

`echo` is FastAPI returning the parsed model of our own request. `openrlhf` is the logic of
OpenRLHF 0.11's `serve_rm` on the model that `assay` serves too: an endpoint that tokenises and runs
the queries of one request in one forward pass, padded on the left.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from assay.messages import Sample
from assay.reward import Reward, Score

VOCABULARY = 16_000


@dataclass(frozen=True)
class NoOp(Reward):
    """Length of the answer, so that a wrong score shows; costs nothing."""

    name: str = "noop"

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """One number each."""
        return [Score.of(float(len(sample.completion[0].content))) for sample in samples]


noop = NoOp()


@cache
def tokenizer() -> Any:
    """Words w1, w2, ...: one token each."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"<pad>": 0} | {f"w{i}": i for i in range(1, VOCABULARY)}
    made = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", padding_side="left", model_max_length=8192
    )


@cache
def model() -> Any:
    """The Llama of 16 M parameters of `benchmarks/reward_models.py`."""
    import torch

    from benchmarks.reward_models import build

    torch.set_num_threads(1)
    return build()


def __getattr__(name: str) -> Any:
    """`rm`, the model as a reward, made when it is asked for."""
    if name != "rm":
        raise AttributeError(name)
    from assay.rewards.engine import Batching
    from assay.rewards.pointwise import PointwiseModel, PointwiseReward

    # One long sequence at a time: on a CPU two of 512 tokens side by side take 1.1x as long.
    batching = Batching(token_budget=512)
    return PointwiseReward(PointwiseModel.of(model(), tokenizer(), batching=batching))


def assay_app() -> Any:
    """Our server."""
    from assay.judges.serving.app import create_app
    from assay.judges.serving.config import ServeConfig

    tables: dict[str, Any] = {"rewards": {"noop": {"object": "benchmarks.serving_apps:noop"}}}
    if "rm" in sys.argv:
        # A quarter of the clients: the model works while the answers of the others travel. On one
        # thread it is no faster with more at a time.
        batching = {"max_items": 16}
        rm = {"object": "benchmarks.serving_apps:rm", "batching": batching}
        tables = {"rewards": {"rm": rm}, "openrlhf": {"reward": "rm", "raw": True}}
    return create_app(ServeConfig.of(tables))


def echo_app() -> Any:
    """FastAPI returning what it parsed."""
    from fastapi import FastAPI

    from assay.judges.serving.schemas import ScoreRequest

    app = FastAPI()

    async def echo(body: ScoreRequest) -> ScoreRequest:
        return body

    echo.__annotations__ = {"body": ScoreRequest, "return": ScoreRequest}
    app.post("/echo")(echo)
    return app


def openrlhf_app() -> Any:
    """One forward pass a request."""
    import torch
    from fastapi import FastAPI, Request
    from fastapi.responses import JSONResponse

    app, words, scorer = FastAPI(), tokenizer(), model()

    async def get_reward(request: Request) -> Any:
        queries = (await request.json()).get("query")
        with torch.no_grad():
            batch = words(
                queries,
                return_tensors="pt",
                add_special_tokens=False,
                max_length=8192,
                padding=True,
                truncation=True,
            )
            rewards = scorer(batch["input_ids"], batch["attention_mask"]).logits[:, 0].tolist()
        return JSONResponse(
            {"rewards": rewards, "scores": rewards, "extra_logs": {"dummy_scores": rewards}}
        )

    get_reward.__annotations__ = {"request": Request}
    app.post("/get_reward")(get_reward)
    return app


if __name__ == "__main__":
    import uvicorn

    apps = {"echo": echo_app, "assay": assay_app, "openrlhf": openrlhf_app}
    uvicorn.run(apps[sys.argv[1]](), port=int(sys.argv[2]), log_level="warning", access_log=False)
