"""The machine on explicit features, trained by sums over blocks: its objective, two ways down, and the certificate.

===============  ==================================================================================================
module           contents
===============  ==================================================================================================
`primal`         P(w, b) and its derivatives in one pass over the blocks
`descent`        the diagonal of the Hessian, with which L-BFGS begins
`newton`         Newton's method, where features are few; `scatter` has its sums
`certificate`    the duality gap, from the scores of a pass
`machine`        `ExplicitKernel`: descent until the certificate is small enough
`novelty`        the offset of one-class machines
===============  ==================================================================================================
"""
