"""Multiple kernel learning: weights that minimise the machine's optimum, one for each kernel."""
