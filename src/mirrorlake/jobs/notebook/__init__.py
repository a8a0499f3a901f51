"""Functions for notebooks."""
