"""A-NLSF and its rivals."""
