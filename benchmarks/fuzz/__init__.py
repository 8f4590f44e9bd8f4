"""A seeded campaign of wrong inputs, damaged files, mistaken commands and broken states: ``make fuzz``."""
