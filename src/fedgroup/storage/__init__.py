"""Where balances and stored answers are kept: in memory or in an SQLite file."""
