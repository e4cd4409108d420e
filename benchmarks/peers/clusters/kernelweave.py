"""New samples can be assigned to the clusters, and views may be missing."""

from sklearn.preprocessing import StandardScaler

from kernelweave import stack_views
from kernelweave.cluster import KernelKMeans
from kernelweave.kernels import Gaussian


def solve(train, n_clusters):
    kernels = [Gaussian(view, transformer=StandardScaler()) for view in train]
    return KernelKMeans(kernels, n_clusters, random_state=0).fit(stack_views(train)).labels_
