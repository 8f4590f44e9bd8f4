"""Claims of speed, memory and safety."""
