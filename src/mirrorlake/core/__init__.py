"""The pure core: bytes -> events, row changes and table definitions. No Spark, no sockets, no clock."""
