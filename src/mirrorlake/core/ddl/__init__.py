"""What DDL says, and what it does to definitions and rows."""
