"""The cluster of these tests, and their time limit."""

from dask_cluster import client, no_futures, time_limit

__all__ = ["client", "no_futures", "time_limit"]
