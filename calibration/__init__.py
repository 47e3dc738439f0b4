if __name__ != "assay.calibration":
    raise ImportError("import assay.calibration, not calibration")
