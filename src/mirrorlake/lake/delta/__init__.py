"""Delta for all hops: sessions, names, commits that carry progress, maintenance."""
