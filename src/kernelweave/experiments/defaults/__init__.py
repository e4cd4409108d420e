"""One module each: a default of the library against its alternatives, as `EXPERIMENT`."""
