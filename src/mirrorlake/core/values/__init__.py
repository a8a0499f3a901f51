"""One value of a row image -> VARIANT, and VARIANT -> Arrow columns."""
