"""Made for this: lists of matrices are its input."""

import numpy as np
import torch
from MKLpy.algorithms import AverageMKL, EasyMKL
from MKLpy.model_selection import cross_val_score
from sklearn.svm import SVC


def solve(train, y, test):
    KL_train = [torch.tensor(K.to_numpy()) for K in train.values()]
    KL_test = [torch.tensor(K.to_numpy()) for K in test.values()]
    models = [algorithm(learner=SVC(C=C)) for algorithm in (AverageMKL, EasyMKL) for C in (1, 10, 100)]
    scores = [np.mean(cross_val_score(KL_train, y, model, n_folds=5, random_state=0)) for model in models]
    return models[np.argmax(scores)].fit(KL_train, y).predict(KL_test)
