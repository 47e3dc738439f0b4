"""Time complexity of programs: expressions and their order, estimators, and the judge over them."""

from assay.judges.complexity.constraints import Constraints
from assay.judges.complexity.expression import Expression, parse
from assay.judges.complexity.judge import ComplexityJudge, Estimator
from assay.judges.complexity.normal_form import normalise, strip, structure_hash
from assay.judges.complexity.program import Program

__all__ = [
    "ComplexityJudge",
    "Constraints",
    "Estimator",
    "Expression",
    "Program",
    "normalise",
    "parse",
    "strip",
    "structure_hash",
]
