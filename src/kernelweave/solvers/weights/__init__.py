"""Kernel weights: `sets` that they are chosen from, `methods` of minimisation over these, and two other programs.

`semidefinite` finds weights of any sign, `cone_ratio` the smallest ratio of two quadratic forms over non-negative
weights, and `widths` the Gaussian of a range of widths that would lower J most.
"""
