"""The dual quadratic programs of kernel machines.

=================  ==================================================================================================
module             what it solves
=================  ==================================================================================================
`box`              the dual of binary, regression and one-class machines: a box and one equality
`ridged`           the same dual with a diagonal added to the kernel: machines with a smooth loss
`working_set`      the dual of `box` where the kernel is computed in parts, on a small set of samples
`joint`            the dual of the joint multiclass machine
`program`          any of these duals written out, for cone solvers and for the second derivative by the weights
=================  ==================================================================================================

Modules with a leading underscore hold the steps of these solvers. "Thesis" is Gönen 2010, PhD thesis, Boğaziçi
University.
"""
