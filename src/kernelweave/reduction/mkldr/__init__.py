"""MKL-DR: graph embedding with learned kernel weights."""
