"""Trainers and recipes: stages, TRL wiring, filters, data builders, environments, adapters."""

if __name__ != "assay.policy":
    raise ImportError("import assay.policy, not policy")
