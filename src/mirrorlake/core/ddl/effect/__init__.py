"""A statement and the definitions before it -> the definitions after it, and what becomes of existing rows."""
