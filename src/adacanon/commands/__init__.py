"""The commands of ``adacanon``: on tables, and on networks and data of one's own."""
