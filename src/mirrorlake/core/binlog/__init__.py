"""The log: files, events, transactions, table maps, and rows as arrays."""
