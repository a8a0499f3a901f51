"""DDL on mirrors, exactly once."""
