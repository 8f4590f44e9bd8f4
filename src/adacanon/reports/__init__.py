"""Records -> tables (paper against ours), figures, HTML."""
