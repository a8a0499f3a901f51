"""The apply hop: mirrors, control tables, and what DDL does to both."""
