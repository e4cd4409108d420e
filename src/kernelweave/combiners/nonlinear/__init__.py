"""Nonlinear combinations: products, polynomials and differences of kernels, thesis section 2.2.2."""
