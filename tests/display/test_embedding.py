import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import NotFittedError
from sklearn.manifold import TSNE
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from drawing import plt, to_rgba
from kernelweave.display import EmbeddingDisplay

X, Y = load_iris(return_X_y=True)
OLD, NEW = slice(0, None, 2), slice(1, None, 2)


def test_samples_and_new_samples_by_class(legend_labels):
    names = np.array(["a", "b", "c"])[Y]
    pipeline = make_pipeline(StandardScaler(), PCA(3)).fit(X[OLD])
    figure, ax = plt.subplots()
    display = EmbeddingDisplay.from_estimator(
        pipeline, X[OLD], names[OLD], X_new=X[NEW], y_new=names[NEW], components=(2, 0), ax=ax
    )
    assert display.ax_ is ax and display.figure_ is figure
    old, new = pipeline.transform(X[OLD])[:, [2, 0]], pipeline.transform(X[NEW])[:, [2, 0]]
    np.testing.assert_allclose(display.points, old)
    for place, name in enumerate("abc"):
        filled, hollow = display.collections_[place], display.collections_[3 + place]
        np.testing.assert_allclose(filled.get_offsets(), old[names[OLD] == name])
        np.testing.assert_allclose(hollow.get_offsets(), new[names[NEW] == name])
        assert len(hollow.get_facecolors()) == 0  # open
        np.testing.assert_allclose(hollow.get_edgecolors(), filled.get_facecolors())
    assert legend_labels(ax) == ["a", "b", "c", "new"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("component 3", "component 1")


def test_numbers_get_a_colour_bar():
    display = EmbeddingDisplay.from_embedding(X[OLD, :2], X[OLD, 2], new=X[NEW, :2], y_new=X[NEW, 2] + 5.0)
    assert display.classes is None and display.figure_.axes[1].get_ylabel() == "y"
    assert display.figure_.axes[1].get_ylim() == pytest.approx((X[OLD, 2].min(), X[NEW, 2].max() + 5.0))
    shades = display.collections_[0].get_facecolors()
    assert len(np.unique(shades, axis=0)) == len(np.unique(X[OLD, 2]))


@pytest.mark.parametrize(
    ("y", "classes"), [(Y.astype(float), [0.0, 1.0, 2.0]), (np.arange(150), None), (Y > 0, [False, True])]
)
def test_which_numbers_are_classes(y, classes):
    assert EmbeddingDisplay.from_embedding(X[:, :2], y).classes == classes


def test_one_component_is_drawn_as_a_strip_for_each_class():
    pca = PCA(1).fit(X)
    display = EmbeddingDisplay.from_estimator(pca, X, Y, X_new=X[:10])
    for place in range(3):
        positions = display.collections_[place].get_offsets()
        np.testing.assert_allclose(positions[:, 0], pca.transform(X)[place == Y, 0])
        assert np.abs(positions[:, 1] - place).max() <= 0.3 and np.ptp(positions[:, 1]) > 0.2
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["0", "1", "2"]
    again = EmbeddingDisplay.from_estimator(pca, X, Y).collections_[1].get_offsets()
    np.testing.assert_array_equal(again, display.collections_[1].get_offsets())


def test_no_classes_data_frames_and_options():
    frame = pd.DataFrame(X[:, :2], columns=["length", "width"])
    keep = FunctionTransformer().fit(frame)
    display = EmbeddingDisplay.from_estimator(
        keep, frame, X_new=frame[:5], scatter_kw={"color": "black"}, new_kw={"marker": "*"}
    )
    assert display.names == ["length", "width"] and display.classes is None
    assert tuple(display.collections_[0].get_facecolors()[0]) == to_rgba("black")
    assert len(display.collections_[1].get_offsets()) == 5
    assert EmbeddingDisplay.from_estimator(keep, frame, Y, legend=False).ax_.get_legend() is None


def test_sparse_input():
    sparse = csr_array(X)
    svd = TruncatedSVD(2).fit(sparse)
    assert EmbeddingDisplay.from_estimator(svd, sparse, Y).points.shape == (150, 2)
    assert EmbeddingDisplay.from_embedding(sparse).points.shape == (150, 2)


def test_errors():
    pca = PCA(2).fit(X)
    with pytest.raises(NotFittedError):
        EmbeddingDisplay.from_estimator(PCA(2), X)
    with pytest.raises(ValueError, match="TSNE has no transform; pass the coordinates"):
        EmbeddingDisplay.from_estimator(TSNE(), X)
    for components in ((0, 2), (0, 1, 1), ()):
        with pytest.raises(ValueError, match="components must be one or two of 0 ... 1"):
            EmbeddingDisplay.from_estimator(pca, X, components=components)
    with pytest.raises(ValueError, match="y .* must have one value for each of the 150 samples"):
        EmbeddingDisplay.from_estimator(pca, X, Y[:3])
    with pytest.raises(ValueError, match="y_new needs X_new"):
        EmbeddingDisplay.from_estimator(pca, X, Y, y_new=Y)
    with pytest.raises(ValueError, match="2 and 3 components"):
        EmbeddingDisplay.from_embedding(X[:, :2], new=X[:, :3])
