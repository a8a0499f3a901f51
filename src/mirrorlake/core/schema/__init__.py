"""Definitions of tables: types, keys, partitions, character sets."""
