"""A name in SQL, as the servers and Spark spell it alike."""

from __future__ import annotations


def quote(*parts: str) -> str:
    """A name of one or more parts, whatever characters it holds."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)
