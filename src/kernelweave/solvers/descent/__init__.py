"""Minimisation of smooth functions of many parameters, where each value is a machine solved to its optimum.

=================  ==================================================================================================
module             contents
=================  ==================================================================================================
`domains`          where the parameters may be: the whole space, convex sets, spheres, orthonormal matrices, products
`smooth`           limited-memory BFGS and gradient descent over a domain
`alternating`      gradient descent on one block of parameters after the other
`ascent`           maximisation by SciPy's gradient methods
=================  ==================================================================================================
"""
