"""The ingest hop and its tables: the log, and snapshots."""
