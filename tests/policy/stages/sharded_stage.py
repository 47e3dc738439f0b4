"""A launched stage that must have shared its parameters, not copied them to every process."""

from __future__ import annotations

import sys

from accelerate import PartialState
from accelerate.utils import DistributedType

from assay.policy.stages import launched


def main(arguments: list[str]) -> None:
    """Run the stage, then look how it ran."""
    launched.main(arguments)
    state = PartialState()
    assert state.distributed_type is DistributedType.FSDP, state
    assert state.num_processes == 2


if __name__ == "__main__":
    main(sys.argv[1:])
