"""Kernels in tiles: values between chosen samples and others, on the host or on a device, never a whole matrix.

The folder is in `kernels`, not in `stacks`, because a `KernelStack` and the engines compute with it, which are below
`stacks`.

===========  =====================================================================================
`functions`  what a kernel is as a function of what it compares, its values, and their precision
`sources`    one base kernel between samples, read, repaired and normalised
`stack`      all base kernels of a stack, and values of new samples
`sums`       weighted sums and other functions of the kernels, on which machines are solved
`host`       products with all kernels in one pass over tiles, in threads
`device`     the same by programs of a CUDA device (`_triton`), and what fits into its memory
===========  =====================================================================================
"""
