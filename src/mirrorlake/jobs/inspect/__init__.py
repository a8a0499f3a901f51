"""Verbs that look into a lake, and the operator's requests to it."""
