if __name__ != "assay.rewards":
    raise ImportError("import assay.rewards, not rewards")
