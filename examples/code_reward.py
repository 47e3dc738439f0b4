"""A reward for code: the answer must hold a program that parses, then its tests count.

    assay score --reward examples/code_reward.py:reward --input rows.jsonl --output scores.jsonl

Value: R = R_format + R_tests in [0, 2]. The tests run (in the sandbox) only where the format has
full marks, so no completion without a program costs a run. Rows need `tests`, or HumanEval's `test`
and `entry_point`.
"""

from assay.rewards import CodeFormat, PassRate, Term, WeightedSum
from assay.sandbox import Limits

reward = WeightedSum(
    {
        "format": Term(CodeFormat(language="python")),
        "tests": Term(PassRate(limits=Limits(cpu_s=2.0)), gate="format"),
    },
    name="code",
)
