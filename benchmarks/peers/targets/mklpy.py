"""Classifiers only: targets that are numbers are refused ("Unknown label type: continuous")."""
