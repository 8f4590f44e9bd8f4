"""Networks on point clouds."""
