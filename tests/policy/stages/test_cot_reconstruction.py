from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError, DataError
from assay.policy.data.row_files import write_rows
from assay.policy.stages.cot_reconstruction import CotReconstructionConfig, main


def _row(number: int, trace: str = "Count on and on.") -> dict[str, Any]:
    answer = {"role": "assistant", "content": str(number + 1), "reasoning_content": trace}
    return {"messages": [{"role": "user", "content": f"{number}+1?"}, answer]}


def _config(folder: Path, **settings: Any) -> CotReconstructionConfig:
    return CotReconstructionConfig.of(
        model=str(folder / "base"),
        data=str(folder / "rows.jsonl"),
        output_dir=str(folder / "author"),
        max_length=2048,
        **settings,
    )


def test_rows_without_traces_are_refused(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows.jsonl", [_row(1, "")])
    with pytest.raises(DataError, match="no row has a trace"):
        main(_config(tmp_path))
    write_rows(tmp_path / "rows.jsonl", [{"messages": _row(1)["messages"][1:]}])
    with pytest.raises(DataError, match="must end with an assistant message"):
        main(_config(tmp_path))
    with pytest.raises(ConfigError, match="held_out is a share"):
        _config(tmp_path, held_out=1.0)


@pytest.mark.slow
def test_a_tiny_model_is_trained_and_its_traces_are_replayed(tmp_path: Path) -> None:
    pytest.importorskip("trl")
    from examples.tiny_models import tiny_llama, tiny_tokenizer

    words = tiny_tokenizer()
    model = tiny_llama(words)
    model.config.max_position_embeddings = 4096
    model.save_pretrained(tmp_path / "base")
    words.save_pretrained(tmp_path / "base")
    write_rows(tmp_path / "rows.jsonl", [_row(i) for i in range(12)])
    trl = {"max_steps": 2, "per_device_train_batch_size": 1, "save_strategy": "no"}
    result = main(
        _config(tmp_path, trl=trl, held_out=0.5, trace_tokens=12, answer_tokens=4, replays=2)
    )
    assert result.stage == "cot_reconstruction" and result.steps == 2
    held = result.metrics["held_out"]
    assert 1 <= held <= 11
    for name in ("faithfulness", "without trace", "kept", "refused"):
        assert 0 <= result.metrics[name] <= 1
