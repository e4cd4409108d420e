"""Fitting estimators on explicit features."""
