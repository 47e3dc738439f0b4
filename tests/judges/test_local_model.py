"""A small causal LM, trained here to write verdicts, goes through client, parser and cache."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError
from assay.judge import Judge, Pair, Verdict
from assay.judges.cached import Cached
from assay.judges.client import Client, Reply, Request
from assay.judges.label_logprobs import label_probabilities
from assay.judges.local_model import LocalModel
from assay.judges.order import BothOrders
from assay.judges.structured import VerdictFormat, nonce_for
from assay.messages import Message, as_messages

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

FORM = VerdictFormat(
    {
        "type": "object",
        "properties": {"choice": {"enum": ["A", "B", "tie"]}},
        "required": ["choice"],
        "additionalProperties": False,
    }
)
PAIRS = [("x", "yy"), ("yy", "x"), ("p", "q"), ("q", "p"), ("u", "v"), ("v", "u")]


@dataclass(frozen=True)
class PairwiseJudge(Judge):
    """The shortest possible judge over a client."""

    client: Client

    def compare(self, pairs: Sequence[Pair]) -> list[Verdict]:
        texts = [(p.a[0].content, p.b[0].content) for p in pairs]
        replies = self.client.ask([question(a, b) for a, b in texts])
        return [self._read(r, nonce_for(t)) for r, t in zip(replies, texts, strict=True)]

    def _read(self, reply: Reply, nonce: str) -> Verdict:
        found = FORM.read(reply, nonce)
        if found.value is None:
            status = "failed" if reply.status == "failed" else "abstained"
            return Verdict(None, status=status, reason=found.note, raw=reply.text)  # type: ignore[arg-type]
        p = label_probabilities(reply.logprobs, ["A", "B"], (found.start, found.end))
        return Verdict(found.value["choice"], None if p is None else p["A"], raw=reply.text)

    def fingerprint(self) -> str:
        return self.client.fingerprint()


def question(a: str, b: str) -> Request:
    return Request((Message("user", f"{nonce_for((a, b))} A: {a} B: {b}"),), FORM.sent_schema)


def target(a: str, b: str) -> str:
    """What the model learns to say: verdicts, and the ways in which models get them wrong."""
    nonce = nonce_for((a, b))
    return {
        "x": json.dumps({"nonce": nonce, "choice": "B"}),
        "yy": json.dumps({"nonce": nonce, "choice": "A"}),
        "p": json.dumps({"nonce": nonce, "choice": "A"}),
        "q": '{"choice": "A"} I prefer A',
        "u": f'{{"nonce": "{nonce}", "choice": "A"',
        "v": json.dumps({"nonce": nonce, "choice": "C"}),
    }[a]


@pytest.fixture(scope="module")
def trained() -> Iterator[tuple[Any, Any]]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a model this small only loses by more
    yield train()
    torch.set_num_threads(threads)


def train() -> tuple[Any, Any]:
    from examples.tiny_models import tiny_llama, tiny_tokenizer

    tokenizer = tiny_tokenizer()
    model = tiny_llama(tokenizer)
    rows = []
    for a, b in PAIRS:
        prompt = tokenizer.apply_chat_template(
            [{"role": "user", "content": question(a, b).messages[0].content}],
            add_generation_prompt=True,
            tokenize=False,
        )
        start = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        end = tokenizer(target(a, b) + "<|im_end|>", add_special_tokens=False)["input_ids"]
        rows.append((start, end))
    width = max(len(s) + len(e) for s, e in rows)
    ids = torch.tensor([[0] * (width - len(s + e)) + s + e for s, e in rows])
    mask = torch.tensor([[0] * (width - len(s + e)) + [1] * len(s + e) for s, e in rows])
    labels = torch.tensor([[-100] * (width - len(e)) + e for s, e in rows])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=150)
    with torch.random.fork_rng():
        for _ in range(150):
            loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            if loss.item() < 0.01:
                break
    model.eval()
    assert loss.item() < 0.1
    return model, tokenizer


@pytest.fixture
def client(trained: tuple[Any, Any]) -> LocalModel:
    return LocalModel(*trained, max_tokens=64, top_logprobs=5)


def pair(a: str, b: str) -> Pair:
    texts = [as_messages(text, role="assistant") for text in (a, b)]
    return Pair(as_messages("which?", role="user"), *texts)


def test_real_replies_go_through_parser_and_cache(client: LocalModel, tmp_path: Path) -> None:
    judge = Cached(PairwiseJudge(client), tmp_path / "scores")
    pairs = [pair(a, b) for a, b in PAIRS]
    verdicts = judge.compare(pairs)
    assert [v.raw for v in verdicts] == [target(a, b) for a, b in PAIRS]
    assert [v.choice for v in verdicts] == ["B", "A", "A", None, None, None]
    assert [v.status for v in verdicts] == ["ok"] * 3 + ["abstained"] * 3
    assert "without this request's nonce" in verdicts[3].reason
    assert "no JSON object" in verdicts[4].reason
    assert "must be one of" in verdicts[5].reason
    p_a = [v.p_a for v in verdicts[:3]]
    assert p_a[0] is not None and p_a[0] < 0.1 and all(p is not None and p > 0.9 for p in p_a[1:])
    assert len(judge.cache) == 3  # no abstention is kept
    assert judge.compare(pairs[:3]) == verdicts[:3]


def test_both_orders_of_a_real_model(client: LocalModel) -> None:
    judge = BothOrders(PairwiseJudge(client))
    sound, broken = judge.compare([pair("x", "yy"), pair("p", "q")])
    assert sound.choice == "B" and sound.p_a is not None and sound.p_a < 0.1
    assert sound.order_gap is not None and abs(sound.order_gap) < 0.2
    assert broken.status == "abstained" and broken.reason.startswith("B first: abstained")


def test_replies_carry_usage_reason_and_logprobs(client: LocalModel) -> None:
    (reply,) = client.ask([question("x", "yy")])
    assert reply.finish_reason == "stop" and reply.status == "ok" and not reply.schema_enforced
    assert reply.usage is not None and reply.usage.completion_tokens > 10
    assert reply.logprobs is not None
    assert "".join(t.token for t in reply.logprobs) == reply.text
    assert all(len(t.top) <= 5 and t.logprob <= 0 for t in reply.logprobs)
    (cut,) = replace(client, max_tokens=4, top_logprobs=0).ask([question("x", "yy")])
    assert (cut.finish_reason, cut.logprobs) == ("length", None)
    assert FORM.read(cut, nonce_for(("x", "yy"))).value is None


def test_batches_do_not_change_replies(client: LocalModel) -> None:
    requests = [question(a, b) for a, b in PAIRS]
    together = [r.text for r in client.ask(requests)]
    assert [r.text for r in replace(client, batch_size=1).ask(requests)] == together
    assert [r.text for r in client.ask(requests[::-1])] == together[::-1]
    assert client.ask([]) == []


def test_sampling_is_seeded_and_leaves_torch_alone(client: LocalModel) -> None:
    warm = replace(client, temperature=1.5, max_tokens=12)
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first, again = (warm.ask(["write"])[0].text for _ in range(2))
    assert torch.rand(1) == expected and first == again
    seeds = {warm.ask([Request((Message("user", "write"),), seed=s)])[0].text for s in range(5)}
    assert len(seeds) > 1


def test_limits_are_failures_of_the_item(client: LocalModel) -> None:
    long, fine = client.ask(["word " * 3000, question("x", "yy")])
    assert long.status == "failed" and "shorten it" in long.error and fine.status == "ok"
    replies = replace(client, batch_deadline_s=1e-6).ask([question("x", "yy")] * 3)
    assert [r.status for r in replies] == ["failed"] * 3
    assert "batch deadline" in replies[0].error


def test_fingerprint_follows_the_weights(client: LocalModel, tmp_path: Path) -> None:
    assert client.fingerprint() == replace(client, batch_size=2).fingerprint()
    other = pickle.loads(pickle.dumps(client))
    assert other.fingerprint() == client.fingerprint()
    with torch.no_grad():
        other.model.lm_head.weight[0, 0] += 1
    changed = replace(other)  # an open handle has read its weights
    prints = {j.fingerprint() for j in (client, changed, replace(client, seed=1))}
    assert len(prints) == 3
    client.model.save_pretrained(tmp_path)
    client.tokenizer.save_pretrained(tmp_path)
    loaded = LocalModel(tmp_path, max_tokens=64, top_logprobs=5)
    assert loaded.ask([question("x", "yy")])[0].text == target("x", "yy")
    assert loaded.fingerprint() == replace(client, dtype="auto").fingerprint()
    assert "Llama" in repr(client) and len(repr(client)) < 200


def test_misuse_is_refused(client: LocalModel) -> None:
    with pytest.raises(ConfigError, match="needs its tokenizer"):
        LocalModel(client.model)
    with pytest.raises(ConfigError, match="batch_size must be >= 1"):
        replace(client, batch_size=0)
    bare = pickle.loads(pickle.dumps(client.tokenizer))
    bare.chat_template = None
    with pytest.raises(ConfigError, match="has no chat template"):
        LocalModel(client.model, bare).ask(["hi"])
