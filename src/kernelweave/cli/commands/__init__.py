"""The commands, a module for each; beside them the report of `demo`, and what `compare` and `fit` read."""
