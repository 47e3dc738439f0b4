"""Parts of `assay evaluate`: samplers, metrics, tasks, comparison of two results."""
