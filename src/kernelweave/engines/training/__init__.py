"""The machine on explicit features, trained by sums over blocks: its objective, two ways down, and the certificate.

===============  ==================================================================================================
module           contents
===============  ==================================================================================================
`primal`         P(w, b) and its derivatives in one pass over the blocks; the duality gap, from the scores of a pass
`descent`        the diagonal of the Hessian, with which L-BFGS begins
`machine`        `ExplicitKernel`: descent until the certificate is small enough, and Newton's method
`novelty`        the offset of one-class machines
===============  ==================================================================================================
"""
