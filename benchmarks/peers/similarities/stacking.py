"""Folds of a stack cut the rows of several matrices only: no `kernel="precomputed"`, they are read as features."""

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC


def solve(train, y, test):
    svm, models, n = GridSearchCV(SVC(), {"C": [1, 10, 100]}, cv=5), [], len(y)
    for place, name in enumerate(train):
        pick = make_column_transformer(("passthrough", slice(place * n, (place + 1) * n)))
        models.append((name, make_pipeline(pick, svm)))
    stack = StackingClassifier(models, LogisticRegression()).fit(np.hstack(list(train.values())), y)
    return stack.predict(np.hstack(list(test.values())))
