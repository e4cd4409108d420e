"""`check_Xs` refuses text and NaN: categories and gaps are prepared by scikit-learn beforehand."""

import numpy as np
from mvlearn.compose import ConcatMerger, ViewClassifier
from mvlearn.model_selection import cross_validate
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC


def solve(train, y, test):
    Xs, Xs_test = [], []
    for view, table in train.items():
        prepare = make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
            (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
            sparse_threshold=0,
        )
        Xs.append(prepare.fit_transform(table))
        Xs_test.append(prepare.transform(test[view]))
    svm = GridSearchCV(SVC(), {"C": [1, 10, 100]}, cv=5)
    models = [make_pipeline(ConcatMerger(), svm), ViewClassifier(svm)]
    scores = [cross_validate(model, Xs, y, cv=5)["test_score"].mean() for model in models]
    return models[np.argmax(scores)].fit(Xs, y).predict(Xs_test)
