"""Point-wise reward models: loading, chat text, truncation, the reward, and GRPO with it."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError, RewardError
from assay.judge import Item
from assay.messages import Message, Sample

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from assay.rewards.chat_text import render_sample  # noqa: E402
from assay.rewards.model_handle import InMemory, close_models  # noqa: E402
from assay.rewards.pointwise import PointwiseModel, PointwiseReward  # noqa: E402
from tests.ranks import run_ranks  # noqa: E402
from tests.rewards.small_models import (  # noqa: E402
    TOOL_TEMPLATE,
    check_model_contract,
    grpo,
    one_by_one,
    reward_model,
    tokenizer,
)

SYSTEM = {"role": "system", "content": "Use only the standard library."}
ASK = {"role": "user", "content": "Read two integers and print their sum."}
ANSWERS = ["print(1)", "a, b = map(int, input().split())\nprint(a + b)", "", "x" * 40]


def samples() -> list[Sample]:
    return [Sample.of([SYSTEM, ASK], answer) for answer in ANSWERS]


def expected(model: Any, words: Any, given: list[Sample]) -> list[float]:
    """What a user would write with transformers alone."""
    ids = []
    for sample in given:
        messages = [
            {"role": m.role, "content": m.content} for m in (*sample.prompt, *sample.completion)
        ]
        text = words.apply_chat_template(messages, tokenize=False)
        ids.append(words(text, add_special_tokens=False)["input_ids"])
    return one_by_one(model, ids)


def test_equal_to_transformers_alone() -> None:
    model = reward_model()
    reward = PointwiseReward(PointwiseModel.of(model, tokenizer()))
    scores = reward.evaluate(samples())
    got = [score.value for score in scores]
    assert got == pytest.approx(expected(model, tokenizer(), samples()), abs=1e-5)
    assert len({round(v, 4) for v in got if v is not None}) == len(ANSWERS)
    assert all(score.note == "" and score.info["tokens"] > 20 for score in scores)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("models") / "rm"
    reward_model(seed=3).save_pretrained(path)
    tokenizer().save_pretrained(path)
    return str(path)


def test_saved_model_loads_lazily_once_and_keeps_the_contract(folder: str) -> None:
    assert list(Path(folder).glob("*.safetensors"))
    model = PointwiseModel(folder, max_length=512)
    reward = PointwiseReward(model)
    check_model_contract(reward, samples())
    assert model.engine() is PointwiseModel(folder, max_length=512).engine()
    assert [s.value for s in reward.evaluate(samples())] == pytest.approx(
        expected(reward_model(seed=3), tokenizer(), samples()), abs=1e-5
    )
    engine = model.engine()
    close_models()
    assert model.engine() is not engine


def test_fingerprint_follows_weights_and_settings_not_speed(folder: str, tmp_path: Path) -> None:
    import shutil

    from assay.rewards.engine import Batching

    first = PointwiseModel(folder)
    assert first.fingerprint() == PointwiseModel(folder, device="cpu").fingerprint()
    assert first.fingerprint() == PointwiseModel(folder, batching=Batching(7)).fingerprint()
    assert first.fingerprint() != PointwiseModel(folder, dtype="bfloat16").fingerprint()
    other = tmp_path / "rm"
    shutil.copytree(folder, other)
    before = PointwiseModel(str(other)).fingerprint()
    reward_model(seed=4).save_pretrained(other)
    assert PointwiseModel(str(other)).fingerprint() != before


def test_model_in_memory_is_comparable_and_picklable() -> None:
    model = PointwiseModel.of(reward_model(), tokenizer(), max_length=256)
    copied = pickle.loads(pickle.dumps(model))
    assert copied == model
    assert copied.fingerprint() == model.fingerprint()
    assert PointwiseReward(copied).evaluate(samples()) == PointwiseReward(model).evaluate(samples())
    assert model != PointwiseModel.of(reward_model(seed=1), tokenizer(), max_length=256)
    assert repr(model.model).startswith("InMemory(LlamaForSequenceClassification, ")
    assert not isinstance(model, torch.nn.Module)


def test_peft_adapter_from_a_folder_and_in_memory(folder: str, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft")
    torch.manual_seed(0)
    settings = peft.LoraConfig(
        task_type="SEQ_CLS", r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False
    )
    adapted = peft.get_peft_model(reward_model(seed=3), settings).eval()
    adapted.save_pretrained(tmp_path / "adapter")
    wanted = expected(adapted, tokenizer(), samples())
    assert wanted != pytest.approx(expected(reward_model(seed=3), tokenizer(), samples()), abs=1e-3)
    in_memory = PointwiseModel.of(adapted, tokenizer())
    by_name = PointwiseModel(folder, adapter=str(tmp_path / "adapter"))
    for model in (in_memory, by_name):
        values = [v.value for v in model.values(samples())]
        assert values == pytest.approx(wanted, abs=1e-5)
    config = tmp_path / "adapter" / "adapter_config.json"
    entries = json.loads(config.read_text()) | {"base_model_name_or_path": folder}
    config.write_text(json.dumps(entries))
    alone = PointwiseModel(str(tmp_path / "adapter"), tokenizer=folder)
    assert [v.value for v in alone.values(samples())] == pytest.approx(wanted, abs=1e-5)


def test_several_labels_need_weights() -> None:
    model = reward_model(num_labels=3)
    with pytest.raises(ConfigError, match="gives 3 numbers, a reward is one; set label_weights"):
        PointwiseReward(PointwiseModel.of(model, tokenizer())).evaluate(samples())
    weighted = PointwiseModel.of(model, tokenizer(), label_weights=(1.0, 0.0, -2.0))
    for value in weighted.values(samples()):
        assert value.value == pytest.approx(value.outputs[0] - 2 * value.outputs[2])
    (score, *_) = PointwiseReward(weighted).evaluate(samples())
    assert len(score.info["outputs"]) == 3


# --- Chat text


def text_of(sample: Sample, limit: int = 4096, template: str = "") -> tuple[str, Any]:
    words = tokenizer(template)
    rendered = render_sample(words, sample, limit)
    return words.decode(rendered.ids), rendered


def test_tools_and_tool_calls_reach_the_template() -> None:
    call = {"function": {"name": "add", "arguments": '{"a": 1}'}}
    completion = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "3"},
        {"role": "assistant", "content": "It is 3."},
    ]
    tools = [{"type": "function", "function": {"name": "add"}}]
    text, _ = text_of(Sample.of("1 + 2?", completion, {"tools": tools}), template=TOOL_TEMPLATE)
    assert '"name": "add"' in text
    assert '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>' in text
    assert "<|im_start|>tool\n3<|im_end|>" in text
    again, _ = text_of(
        Sample.of("1 + 2?", completion, {"tools": json.dumps(tools)}), template=TOOL_TEMPLATE
    )
    assert again == text
    with pytest.raises(DataError, match="column 'tools' must be a list of JSON schemas"):
        text_of(Sample.of("q", "a", {"tools": [1]}))
    with pytest.raises(DataError, match="column 'tools' is not JSON"):
        text_of(Sample.of("q", "a", {"tools": "[1"}))


def test_truncated_completion_is_not_closed() -> None:
    done, rendered = text_of(Sample.of("q", "a b c"))
    assert done.endswith("a b c<|im_end|>\n")
    assert rendered.closed
    cut, rendered = text_of(Sample.of("q", "a b c", truncated=True))
    assert cut.endswith("<|im_start|>assistant\na b c")
    assert not rendered.closed
    reward = PointwiseReward(PointwiseModel.of(reward_model(), tokenizer()))
    (score,) = reward.evaluate([Sample.of("q", "a b c", truncated=True)])
    assert score.info["open"] is True
    # cut inside a tool's result or before any word: only the closing token goes
    cut, rendered = text_of(Sample.of("q", "", truncated=True))
    assert cut.endswith("<|im_start|>assistant\n")
    assert not rendered.closed


@pytest.mark.parametrize("words", ["end", "i", "<", "im_end", "ends in spaces  ", ""])
def test_a_short_truncated_completion_keeps_its_own_words_alone(words: str) -> None:
    """Words that also stand in the end-of-turn token or in a role's name."""
    tokens = tokenizer()
    model = PointwiseModel.of(reward_model(), tokens)
    (value,) = model.values([Sample.of("Say it.", words, truncated=True)])
    assert value.rendered is not None and not value.rendered.closed
    text = tokens.decode(value.rendered.ids)
    assert text == f"<|im_start|>user\nSay it.<|im_end|>\n<|im_start|>assistant\n{words}"


def test_halves_of_surrogate_pairs_are_no_words() -> None:
    reward = PointwiseReward(PointwiseModel.of(reward_model(), tokenizer()))
    broken, mended = reward(completions=["a\ud800", "a\ufffd"], prompts=["q\udfff", "q\ufffd"])
    assert broken == mended


def test_what_does_not_fit_keeps_both_ends() -> None:
    prompt = " ".join(f"p{i}" for i in range(300))
    answer = " ".join(f"c{i}" for i in range(300))
    text, rendered = text_of(Sample.of(prompt, answer), 200)
    assert len(rendered.ids) == 200
    assert rendered.cut_prompt > 0
    assert rendered.cut_completion > 0
    assert text.endswith("c299<|im_end|>\n")
    assert "p299<|im_end|>\n<|im_start|>assistant\n" in text
    assert text.startswith("<|im_start|>")
    # A short completion is kept whole, a short prompt as well.
    text, rendered = text_of(Sample.of(prompt, "c1 c2"), 200)
    assert "<|im_start|>assistant\nc1 c2<|im_end|>" in text
    assert rendered.cut_completion == 0 < rendered.cut_prompt
    text, rendered = text_of(Sample.of("p1", answer), 200)
    assert text.startswith("<|im_start|>user\np1<|im_end|>\n<|im_start|>assistant\n")
    assert rendered.cut_prompt == 0 < rendered.cut_completion
    reward = PointwiseReward(PointwiseModel.of(reward_model(), tokenizer(), max_length=200))
    (score,) = reward.evaluate([Sample.of(prompt, answer)])
    assert score.note.startswith("cut ")
    assert "of the prompt's start; cut " in score.note
    assert score.info["tokens"] == 200


def test_a_tokenizer_without_template_gets_a_pair_of_texts() -> None:
    from examples.tiny_models import tiny_tokenizer

    words = tiny_tokenizer()
    words.chat_template = None
    rendered = render_sample(words, Sample.of("print", "sum"), 100)
    assert list(rendered.ids) == words("print", "sum")["input_ids"]
    long = render_sample(words, Sample.of("p " * 100 + "end", "c " * 100 + "stop"), 50)
    assert len(long.ids) <= 50
    assert words.decode(long.ids).endswith("stop")
    assert "end" in words.decode(long.ids)
    assert long.cut_prompt > 0


def test_template_that_refuses_a_role_says_which() -> None:
    refusing = "{{ raise_exception('no system prompts') }}"
    with pytest.raises(DataError, match=r"cannot render roles \['user', 'assistant'\]: no system"):
        text_of(Sample.of("q", "a"), template=refusing)


# --- The reward


def test_not_finite_is_a_failure_of_ours() -> None:
    model = reward_model()
    with torch.no_grad():
        model.score.weight.fill_(math.nan)
    reward = PointwiseReward(PointwiseModel.of(model, tokenizer()))
    (score, *_) = reward.evaluate(samples())
    assert score.status == "failed"
    assert "nan; try dtype='float32'" in score.note
    (grade, *_) = reward.model.grade([Item(s.prompt, s.completion) for s in samples()])
    assert grade.status == "failed"


def test_a_model_is_a_judge_of_single_answers() -> None:
    model = PointwiseModel.of(reward_model(), tokenizer())
    grades = model.grade([Item(s.prompt, s.completion) for s in samples()])
    assert [g.value for g in grades] == [v.value for v in model.values(samples())]


def test_messages(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"PointwiseModel.of\(model, tokenizer\)"):
        PointwiseModel(reward_model())
    with pytest.raises(ConfigError, match="PointwiseReward.model must be a PointwiseModel"):
        PointwiseReward("my/model")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="dtype must be one of .*, got 'int4'"):
        PointwiseModel("m", dtype="int4")
    with pytest.raises(ConfigError, match=r"\['device', 'device_map'\] exclude each other"):
        PointwiseModel("m", device="cpu", device_map="auto")
    with pytest.raises(ConfigError, match="max_length must be >= 8, got 2"):
        PointwiseModel("m", max_length=2)
    with pytest.raises(ConfigError, match="InMemory needs a transformers or PEFT model"):
        InMemory("model", tokenizer())
    with pytest.raises(RewardError, match="cannot load"):
        PointwiseModel(str(tmp_path / "none")).values(samples())


def test_replicas_and_offload_change_no_score() -> None:
    plain = [v.value for v in PointwiseModel.of(reward_model(), tokenizer()).values(samples())]
    for settings in ({"replicas": ("cpu", "cpu")}, {"offload": True, "device": "cpu"}):
        model = PointwiseModel.of(reward_model(), tokenizer(), **settings)
        assert [v.value for v in model.values(samples())] == pytest.approx(plain, abs=1e-6)


def reward_for_grpo() -> PointwiseReward:
    return PointwiseReward(PointwiseModel.of(reward_model(), tokenizer()))


def grpo_log() -> dict[str, float]:
    return grpo(reward_for_grpo(), per_device_train_batch_size=4)


def test_grpo_on_one_process() -> None:
    log = grpo(reward_for_grpo())
    assert log["rewards/pointwise/mean"] == pytest.approx(log["pointwise/mean"])
    assert log["pointwise/scored"] == 8
    assert log["reward_std"] > 0


def test_grpo_on_two_processes() -> None:
    first, _ = run_ranks("tests.rewards.test_pointwise:grpo_log")
    assert first["pointwise/scored"] == 4
    assert first["reward_std"] > 0


def test_truncated_last_turn_is_a_message() -> None:
    call = Message.of({"role": "assistant", "content": "", "tool_calls": [{"name": "f"}]})
    text, rendered = text_of(Sample.of("q", [call], truncated=True), template=TOOL_TEMPLATE)
    assert text.endswith("</tool_call>")
    assert not rendered.closed
