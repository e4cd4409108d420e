"""Regressions only: one target of 0 and 1 for each class, and the largest prediction counts."""

import numpy as np
import pandas as pd
from himalaya.kernel_ridge import ColumnKernelizer, Kernelizer, MultipleKernelRidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelBinarizer, StandardScaler


def solve(train, y, test):
    kernel = make_pipeline(StandardScaler(), Kernelizer("rbf"))
    kernelizer = ColumnKernelizer([(view, kernel, list(table)) for view, table in train.items()])
    tried = {"n_iter": 20, "alphas": np.logspace(-3, 3, 7), "progress_bar": False}
    ridge = MultipleKernelRidgeCV(kernels="precomputed", solver_params=tried, fit_intercept=True, random_state=0)
    classes = LabelBinarizer()
    model = make_pipeline(kernelizer, ridge).fit(pd.concat(train.values(), axis=1), classes.fit_transform(y))
    return classes.classes_[model.predict(pd.concat(test.values(), axis=1)).argmax(axis=1)]
