import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from drawing import plt
from kernelweave import MKLClassifier
from kernelweave.combiners import Localized, Projected, Softmax
from kernelweave.display import ProjectionImagesDisplay
from kernelweave.kernels import Linear

TWO = [("one", Linear()), ("two", Linear())]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=4, return_X_y=True)
    return X[:150], y[:150] > 1


def test_images_are_columns_of_projections_and_slopes_of_gates(digits):
    model = MKLClassifier(TWO, Projected(2, Softmax(), gating_components=3), random_state=0).fit(*digits)
    display = ProjectionImagesDisplay.from_estimator(model, image_shape=(8, 8))
    projections = [f"projection of {name}__{k}" for name in ("one", "two") for k in (0, 1)]
    assert [ax.get_title() for ax in display.axes_] == [*projections, "gate of one", "gate of two"]
    drawn = {ax.get_title(): ax.images[0] for ax in display.axes_}
    W = model.projections_["two"]["two__1"].to_numpy()
    np.testing.assert_array_equal(drawn["projection of two__1"].get_array(), W.reshape(8, 8))
    np.testing.assert_array_equal(drawn["gate of one"].get_array().ravel(), model.gating_coef_["one"])
    low, high = drawn["gate of one"].get_clim()
    assert low == -high and high == np.abs(model.gating_coef_["one"]).max()


def test_pipeline_given_axes_and_no_gates(digits):
    model = make_pipeline(StandardScaler(), MKLClassifier([Linear()], Projected(1), random_state=0)).fit(*digits)
    ax = plt.subplots()[1]
    display = ProjectionImagesDisplay.from_estimator(model, image_shape=(4, 16), ax=ax, image_kw={"cmap": "RdBu"})
    assert display.ax_ is ax and list(display.images) == ["projection of linear"]
    assert ax.images[0].get_cmap().name == "RdBu" and display.images["projection of linear"].shape == (4, 16)
    gated = MKLClassifier(TWO, Projected(1, Softmax()), random_state=0).fit(*digits)
    assert len(ProjectionImagesDisplay.from_estimator(gated, image_shape=(8, 8), gates=False).images) == 2


def test_errors(digits):
    X, y = digits
    model = MKLClassifier(TWO, Projected(1, Softmax(), inputs=[0, 1, 2]), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"image_shape \(9, 9\) has 81 pixels, but the kernel 'one' reads 64"):
        ProjectionImagesDisplay.from_estimator(model, image_shape=(9, 9))
    with pytest.raises(ValueError, match=r"the gating model \(see gates=False\) reads 3"):
        ProjectionImagesDisplay.from_estimator(model, image_shape=(8, 8))
    with pytest.raises(NotFittedError):
        ProjectionImagesDisplay.from_estimator(MKLClassifier(TWO, Projected(1)), image_shape=(8, 8))
    with pytest.raises(ValueError, match="has no projections"):
        ProjectionImagesDisplay.from_estimator(MKLClassifier(TWO, Localized()).fit(X, y), image_shape=(8, 8))
