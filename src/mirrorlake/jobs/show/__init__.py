"""What a terminal shows: progress and tables of text."""
