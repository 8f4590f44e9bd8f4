"""Tables on graphs."""
