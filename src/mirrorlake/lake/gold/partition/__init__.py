"""Which rows of a mirror are in a partition of the source."""
