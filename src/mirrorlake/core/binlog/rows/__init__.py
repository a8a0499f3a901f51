"""Table maps and row events: row images -> VARIANT."""
