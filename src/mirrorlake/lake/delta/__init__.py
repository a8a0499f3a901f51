"""What all hops need of Delta: sessions, names, commits that carry progress, maintenance."""
