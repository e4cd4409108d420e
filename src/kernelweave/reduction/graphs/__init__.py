"""Graphs of the samples, of which MKL-DR learns an embedding: neighbours and classes to keep together or apart."""
