"""Syncpoints: all mirrors at one position of the log."""
