"""Graph embedding, the part of dimensionality reduction that is solved for given kernel weights.

===================  ================================================================================================
module               contents
===================  ================================================================================================
`graph_laplacian`    the Laplacian of a graph over samples, kept as sparse, low-rank and diagonal parts
`graph_embedding`    the coefficients of the samples that a graph and a kernel give
===================  ================================================================================================
"""
