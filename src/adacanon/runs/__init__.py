"""The engine of experiments: what a run, a table, a pool and a study are. It knows no table."""
