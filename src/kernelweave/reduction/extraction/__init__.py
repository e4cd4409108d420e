"""Extraction of a few supervised features from one kernel, or (`LocalFisher`) from the columns of X."""
