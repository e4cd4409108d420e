"""The library's defaults: each module declares `EXPERIMENT`, which compares one default with its alternatives."""
