"""No place for missing views: they are filled with means by scikit-learn."""

import numpy as np
from MKLpy.algorithms import AverageMKL, EasyMKL
from MKLpy.metrics.pairwise import rbf_kernel
from MKLpy.model_selection import cross_val_score
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC


def solve(train, y, test):
    KL_train, KL_test = [], []
    for view, table in train.items():
        prepare = make_pipeline(SimpleImputer(), StandardScaler()).fit(table)
        A, B = prepare.transform(table), prepare.transform(test[view])
        KL_train.append(rbf_kernel(A, gamma=1 / A.shape[1]))
        KL_test.append(rbf_kernel(B, A, gamma=1 / A.shape[1]))
    models = [algorithm(learner=SVC(C=C)) for algorithm in (AverageMKL, EasyMKL) for C in (1, 10, 100)]
    scores = [np.mean(cross_val_score(KL_train, y, model, n_folds=5, random_state=0)) for model in models]
    return models[np.argmax(scores)].fit(KL_train, y).predict(KL_test)
