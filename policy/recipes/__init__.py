"""Recipes that come with the library, as TOML files."""
