"""New samples for a saved model: which file is which view, reading, predictions and explanations."""
