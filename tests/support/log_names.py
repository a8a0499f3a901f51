"""Names of binlog files: every way in has one rule."""

from __future__ import annotations

LOG_NAMES = ("binlog.000004", "my log.000004", " .000004", "log - 1:4.000004", "ü\u00a0漢.000004", "a.000001.1000000")
"""Servers write these; ``--log-bin`` chooses the base."""
_BASES = ("a\x1b[2J", "a\nb", "a\tb", "a\x7f", "a\u202eb", "a\u2028", "a/b", "")
TOO_LONG = "a" * 256 + ".000004"
NO_LOG_NAMES = (*(f"{base}.000004" for base in _BASES), "binlog." + "0" * 19 + "1", "binlog.000004\n", TOO_LONG)
