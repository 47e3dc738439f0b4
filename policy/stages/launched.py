"""One stage in each process of `accelerate launch`: `python -m assay.policy.stages.launched`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from assay.policy.config_keys import from_table
from assay.policy.launch.cpu_sharding import shard_on_cpus
from assay.policy.stages.registry import stage_kind


def main(arguments: list[str]) -> None:
    """Run the stage named first with the configuration in the JSON file named second."""
    shard_on_cpus()
    kind = stage_kind(arguments[0])
    settings = json.loads(Path(arguments[1]).read_text(encoding="utf-8"))
    kind.run(from_table(kind.config_class(), settings, arguments[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
