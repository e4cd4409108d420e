"""One module a table; each declares `EXPERIMENT`."""
