"""Tables of the library's own, which no paper has."""
