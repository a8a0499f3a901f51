"""Definitions of tables: types, keys, partitions, character sets, and how DDL changes them."""
