"""Tables on the grid signal orientation task, and its part of the demo."""
