"""Contents on molecules: a table of scalars and vectors under rotations, and the study that chose its settings."""
