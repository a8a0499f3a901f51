"""Bytes of the log and rows of snapshots, from a server or from files. No Spark."""
