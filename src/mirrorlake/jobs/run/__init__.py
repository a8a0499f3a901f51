"""Runs of the hops: sources and lakes are opened, hops repeated, failures classified."""
