"""Verbs about a workspace of Databricks: they ask it over HTTP, and need no Spark."""
