"""Classifiers only: every algorithm reads labels, and there is no clustering."""
