"""Ensembles of one kernel discriminant per kernel, and the classifier with a few learned expansion vectors."""
