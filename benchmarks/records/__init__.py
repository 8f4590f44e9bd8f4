"""Committed records: carried over to new names, and compared with those of another revision."""
