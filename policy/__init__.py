if __name__ != "assay.policy":
    raise ImportError("import assay.policy, not policy")
