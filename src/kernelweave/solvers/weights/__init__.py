"""Kernel weights: convex sets of weights, projections onto them, and minimisation over them.

=================  ==================================================================================================
module             contents
=================  ==================================================================================================
`sets`             the sets that weights are chosen from: a simplex, a budget, the ball of a group norm
`ball`, `simplex`  projections onto a ball and a simplex, and projected gradients on the simplex
`bundle`           lower bounds of a convex function of the weights (cuts), and the duality gap they certify
`methods`          Newton, level, semi-infinite and reduced-gradient methods on these sets
`norms`            lp-norm weights by closed-form steps
`conic`            weights and dual variables together by one cone program
`semidefinite`     weights of any sign by semidefinite programs
`scale_free`       functions that do not change with the scale of the weights
`cone_ratio`       the smallest ratio of two quadratic forms over non-negative weights
=================  ==================================================================================================
"""
