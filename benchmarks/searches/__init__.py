"""What searches find, and for how much."""
