"""Tables on the grid signal orientation task, and the demo."""
