import numpy as np
import pytest

from kernelweave.datasets import load_multifeat


def test_views_and_digits():
    data = load_multifeat()
    assert data.data.shape == (2000, 649)
    sizes = {view: sum(c.startswith(view + "__") for c in data.data.columns) for view in data.view_names}
    assert sizes == {"fac": 216, "fou": 76, "kar": 64, "mor": 6, "pix": 240, "zer": 47}
    assert np.bincount(data.target).tolist() == [200] * 10
    assert np.isfinite(data.data.to_numpy()).all()
    assert "CC BY 4.0" in data.DESCR


@pytest.mark.parametrize(("target", "rule"), [("small-vs-large", lambda d: d >= 5), ("even-vs-odd", lambda d: d % 2)])
def test_binary_targets(target, rule):
    X, y = load_multifeat(target=target, return_X_y=True)
    digits = load_multifeat().target
    np.testing.assert_array_equal(y, rule(digits))
    assert len(load_multifeat(target=target).target_names) == 2


def test_unknown_target():
    with pytest.raises(ValueError, match='target must be None, "'):
        load_multifeat(target="odd")
