"""The reward of the report's second code stage: format, then tests, then time complexity.

    assay score --reward examples/code_reward.py:reward --input rows.jsonl --output scores.jsonl

Value: R = R_format + R_tests + 0.5 R_time in [0, 2.5]. The tests run (in the sandbox) only where
the format has full marks, so no completion without a program costs a run. The time complexity is
judged, against the column `optimal_complexity`, only where every test passes; where the judge
cannot tell, the bonus is missing and no more. At equal format every correct program outranks every
other one.

Rows need `tests`, or HumanEval's `test` and `entry_point`. Rows without `optimal_complexity` have
no time reward (it is skipped, and counted as such): for them this is the reward of the first stage.

Source: Nanbeige4.1-3B report (arXiv:2602.13367), code RL; the weight of R_time is ours.
"""

from assay.rewards import CodeFormat, PassRate, Term, TimeComplexity, WeightedSum
from assay.sandbox import Limits

reward = WeightedSum(
    {
        "format": Term(CodeFormat(language="python")),
        "tests": Term(PassRate(limits=Limits(cpu_s=2.0)), gate="format"),
        "time": Term(
            TimeComplexity(no_optimum="skip"), weight=0.5, gate="tests", on_missing="zero"
        ),
    },
    name="code",
)
