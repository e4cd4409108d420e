"""Models from a table of people's own: what each column holds, how it is prepared, and methods by name."""
