"""Time complexity of programs: expressions and their order, estimators, and the judge over them."""
