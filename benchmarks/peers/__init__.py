"""Six tasks of several views, each solved by a short script in Kernelweave and in four other libraries.

``python -m benchmarks.peers --page docs/peers.md`` runs them and writes the page (`benchmarks.peers.__main__`). The
folder of each task (`tasks`) has a script for each library: ``solve(train, y, test)`` returns predictions, and `train`
and `test` are dictionaries from the name of a view to a data frame. The docstring of a script says what the library
lacks for the task; a script that is a docstring only says why the library cannot do it.
"""
