"""Runs untrusted programs: languages, limits, verdicts, isolation backends."""

if __name__ != "assay.sandbox":
    raise ImportError("import assay.sandbox, not sandbox")
