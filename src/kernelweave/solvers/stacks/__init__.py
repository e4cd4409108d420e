"""Operations on stacks of kernel matrices that are bound by memory, each in one pass.

=================  ==================================================================================================
module             contents
=================  ==================================================================================================
`sums`             sums of kernels, with one weight for each kernel or one gate for each kernel and sample
`images`           products of every matrix with few vectors
`products`         inner products of centred matrices
`elementwise`      functions of squared distances and inner products, entry by entry, and their derivatives
`exponentials`     exponentials of tiles of distances, and products with tiles, for kernels in parts
`passes`           value and gradient of losses in one read of explicit features
`gating`           softmax and sigmoid gates of samples from their scores, and back
=================  ==================================================================================================
"""
