"""What every device must be able to run: one table of cases, the same on all of them."""
