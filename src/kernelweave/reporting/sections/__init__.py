"""The sections of a report on a fitted model, one module for each; they read a `Subject` and return a `Section`."""
