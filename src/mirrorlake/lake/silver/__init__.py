"""The assemble hop and its tables: row changes, definitions, overrides."""
