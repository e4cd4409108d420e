"""Regressions only: classes are +1 and -1. Categories and gaps are prepared by scikit-learn."""

import numpy as np
import pandas as pd
from himalaya.kernel_ridge import ColumnKernelizer, Kernelizer, MultipleKernelRidgeCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


def solve(train, y, test):
    prepare = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        sparse_threshold=0,
    )
    kernel = make_pipeline(prepare, Kernelizer("rbf"))
    kernelizer = ColumnKernelizer([(view, kernel, list(table)) for view, table in train.items()])
    tried = {"n_iter": 20, "alphas": np.logspace(-3, 3, 7), "progress_bar": False}
    ridge = MultipleKernelRidgeCV(kernels="precomputed", solver_params=tried, fit_intercept=True, random_state=0)
    model = make_pipeline(kernelizer, ridge).fit(pd.concat(train.values(), axis=1), 2.0 * y - 1.0)
    return (model.predict(pd.concat(test.values(), axis=1)) > 0).astype(int)
