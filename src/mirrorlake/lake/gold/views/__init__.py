"""Views: every mirror under its source's name, for Spark and for other engines."""
