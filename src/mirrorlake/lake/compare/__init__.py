"""What `verify` and `replay` compare tables by."""
