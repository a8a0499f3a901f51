"""The demo: bundled logs of real servers -> two lakes, and a report."""
