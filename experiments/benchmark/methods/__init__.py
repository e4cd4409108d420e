"""The methods of the benchmark, one file each, in the form in which others enter theirs.

A file has a ``NAME``, for those of this folder also a ``FAMILY`` ("kernelweave" or "rival"), and a function
``candidates(problem)``, which returns the settings to try: a dict from label to unfitted classifier, at most 8. A file
that needs another package than the library has its name in ``REQUIRES``.
"""
