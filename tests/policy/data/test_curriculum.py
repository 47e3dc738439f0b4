import random

import pytest

from assay.errors import ConfigError
from assay.policy.data.curriculum import (
    CONTEXTS,
    LONGEST_PACKED,
    Curriculum,
    packed_sequences,
    require_packable,
)


def test_rows_go_to_the_shortest_context_that_holds_them() -> None:
    lengths = [10, 32_768, 32_769, 70_000, 262_144, 262_145, 0]
    found = Curriculum()(lengths)
    assert found.places == {32_768: [0, 1], 65_536: [2], 262_144: [3, 4]}
    assert found.refused == [5, 6]
    assert [account.packing for account in found.accounts] == [True, True, False]
    assert found.accounts[2].sequences == 2
    everywhere = Curriculum(rows="all")(lengths)
    assert everywhere.places[262_144] == [0, 1, 2, 3, 4]


def test_packing_beyond_64k_is_refused() -> None:
    require_packable(LONGEST_PACKED)
    with pytest.raises(ConfigError, match=r"TRL refuses context parallelism.*packing = false"):
        require_packable(CONTEXTS[-1])
    with pytest.raises(ConfigError, match="up to 65536"):
        Curriculum(packed_up_to=131_072)
    with pytest.raises(ConfigError, match="must grow"):
        Curriculum((200, 100))


def test_best_fit_counts_what_trl_packs() -> None:
    datasets = pytest.importorskip("datasets", reason="packing is compared with TRL's")
    from trl import pack_dataset

    coin = random.Random(0)
    for trial in range(5):
        lengths = [coin.randint(1, 60) for _ in range(80)]
        rows = datasets.Dataset.from_dict({"input_ids": [[trial] * n for n in lengths]})
        packed = pack_dataset(rows, seq_length=64, strategy="bfd")
        assert packed_sequences(lengths, 64) == len(packed)
