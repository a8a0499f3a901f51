"""Events -> silver changes, and the net effect of changes on each key."""
