"""The dual quadratic programs of kernel machines.

=================  ==================================================================================================
module             what it solves
=================  ==================================================================================================
`box`              the dual of binary, regression and one-class machines: a box and one equality
`ridged`           the same dual with a diagonal added to the kernel: machines with a smooth loss
`in_parts`         the dual of `box` on a kernel of which only parts are computed, in any place
`working_set`      the same near a solution, where a small set of samples has all that matters
`joint`            the dual of the joint multiclass machine
`program`          any of these duals written out, for cone solvers and for the second derivative by the weights
=================  ==================================================================================================

Modules with a leading underscore hold the steps of these solvers. "Thesis" is Gönen 2010, PhD thesis, Boğaziçi
University.
"""
