if __name__ != "assay.judges":
    raise ImportError("import assay.judges, not judges")
