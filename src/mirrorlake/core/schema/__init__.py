"""What tables look like: types, keys, partitions, character sets, and what DDL makes of them."""
