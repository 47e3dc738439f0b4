from assay.judges.complexity import Program
from assay.messages import Sample
from assay.policy import ablation_rewards
from assay.policy.ablation_rewards import LoopDepth


def _told(code: str, language: str = "python") -> str | None:
    return LoopDepth().estimate([Program(code, language)])[0].expression


def test_loops_are_counted_and_nothing_else() -> None:
    assert _told("print(1)") == "1"
    assert _told("for i in range(n):\n    pass\nfor j in range(n):\n    pass") == "n"
    assert _told("x = [i * j for i in a for j in b]") == "n^2"
    assert _told("sorted(a)\nfor i in a:\n    pass") == "n log n"
    assert _told("while n > 1:\n    n //= 2") == "n"  # log n in truth: the heuristic is cheap
    assert _told("for (") is None and _told("int main(){}", "c") is None


def test_the_judges_disagree_where_the_heuristic_is_wrong() -> None:
    code = "n = int(input())\nwhile n > 1:\n    n //= 2\nprint(n)"
    row = {
        "tests": [{"stdin": "8\n", "expected": "1\n"}],
        "optimal_complexity": "log n",
        "optimal_solution": code,  # a reference solution would settle it for both
        "uid": "halve",
    }
    sample = Sample.of("Halve it.", f"```python\n{code}\n```", row)
    found = {}
    for name in ("heuristic", "static"):
        reward = getattr(ablation_rewards, name)
        found[name] = reward.evaluate([sample])[0].parts["time"].value
    assert found == {"heuristic": 0.0, "static": 1.0}
