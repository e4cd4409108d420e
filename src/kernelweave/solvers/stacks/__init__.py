"""Operations on stacks of kernel matrices that are bound by memory, each in one pass.

=================  ==================================================================================================
module             contents
=================  ==================================================================================================
`sums`             sums of matrices with one weight per kernel, and products of every matrix with few vectors
`gated_sums`       sums of matrices with one weight per kernel and sample, and their derivatives by these weights
`products`         inner products of centred matrices
`elementwise`      functions of squared distances and inner products, entry by entry, and their derivatives
=================  ==================================================================================================
"""
