"""Control tables: register of mirrors, epochs, and what holds for each table."""
