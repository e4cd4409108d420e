"""Kernel weights: `sets` that they are chosen from, `methods` of minimisation over these, and two other programs.

`semidefinite` finds weights of any sign, and `cone_ratio` the smallest ratio of two quadratic forms over non-negative
weights.
"""
