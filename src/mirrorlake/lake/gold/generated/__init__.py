"""Generated columns that the log leaves out, as Spark SQL."""
