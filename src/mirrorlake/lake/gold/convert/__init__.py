"""Values of an old type -> those of a new one, as the servers do it, in Spark SQL."""
