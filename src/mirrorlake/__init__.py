"""Mirror MySQL and MariaDB binlogs into Delta Lake tables."""

__version__ = "0.1.0"
