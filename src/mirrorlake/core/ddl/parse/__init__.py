"""The text of a statement -> a value. Knows no table."""
