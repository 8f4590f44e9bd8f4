"""Rivals of A-NLSF on graphs."""
