"""One kernel for each view; equal or learned weights, and C, by cross-validation."""

from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, stack_views
from kernelweave.combiners import LpMKL, Mean
from kernelweave.kernels import Gaussian


def solve(train, y, test):
    kernels = [Gaussian(view, transformer=StandardScaler()) for view in train]
    grid = {"C": [1, 10, 100], "combiner": [Mean(), LpMKL()]}
    search = GridSearchCV(MKLClassifier(kernels), grid, cv=5).fit(stack_views(train), y)
    return search.predict(stack_views(test))
