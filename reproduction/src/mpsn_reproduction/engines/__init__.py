"""Training of the experiments: many networks side by side, in captured steps."""
