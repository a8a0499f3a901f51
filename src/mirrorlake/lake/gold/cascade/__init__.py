"""Rows that foreign keys change without a row event."""
