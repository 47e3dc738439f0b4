"""Configurations of `accelerate launch` that come with the library."""
