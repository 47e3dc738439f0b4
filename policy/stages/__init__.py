"""Training stages: one frozen configuration and one `main(config)` each, usable alone."""
