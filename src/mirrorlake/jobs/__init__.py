"""The verbs of the command line: they connect sources, hops and lakes."""
