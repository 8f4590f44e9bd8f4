"""Tables and figures on point clouds."""
