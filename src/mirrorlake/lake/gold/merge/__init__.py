"""Row changes -> one commit on a mirror."""
