"""Builders of training data: code problems, preferences, trajectories, search questions."""
