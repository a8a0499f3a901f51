"""The Delta tables of a lake; each hop has its own folder."""
