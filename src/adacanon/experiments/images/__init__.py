"""Tables on images."""
