"""What the swap-consistency term does to a reward model that learned from slot-biased labels.

    python benchmarks/swap_consistency.py                    # everything, some minutes
    python benchmarks/swap_consistency.py --quick --json out.json

Two trainings, each with swap weights 0, .1, .5 and 2 and several paired seeds:

- `single`: ordinary training, each pair in the one random order in which it was labelled;
- `balanced`: both orders of every pair in the batch. The loss itself is then symmetric, so there
  is little slot bias left for the term to remove; the table says how little.

Shown are means over seeds with 95% intervals (Student's t) on held-out pairs with true labels.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
