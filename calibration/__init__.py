"""Metrics, probes, calibrators and reports that audit judges: arrays in, numbers out."""

if __name__ != "assay.calibration":
    raise ImportError("import assay.calibration, not calibration")
