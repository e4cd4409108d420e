"""No stacking without labels: k-means on all columns side by side."""

import pandas as pd
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler


def solve(train, n_clusters):
    X = StandardScaler().fit_transform(pd.concat(train.values(), axis=1))
    return KMeans(n_clusters, n_init=10, random_state=0).fit_predict(X)
