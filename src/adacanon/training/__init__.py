"""The loop, splits and records."""
