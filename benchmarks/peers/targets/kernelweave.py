"""Weights of each target are fitted one target after the other."""

from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLRegressor, stack_views
from kernelweave.combiners import LpMKL
from kernelweave.kernels import Linear


def solve(train, y, test):
    kernels = [Linear(view, transformer=StandardScaler()) for view in train]
    model = MKLRegressor(kernels, LpMKL(), machine="least-squares", weights="per-target")
    search = GridSearchCV(model, {"C": [0.1, 1, 10, 100]}, cv=5).fit(stack_views(train), y)
    return search.predict(stack_views(test))
