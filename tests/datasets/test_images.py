import numpy as np
import pytest

from kernelweave.datasets.images import draw_strokes, face_views, pen_views, saliency_maps, shrink


def test_strokes_join_successive_points():
    # A corner: down the left edge, then along the bottom.
    bitmap = draw_strokes(np.array([[0, 100, 0, 0, 100, 0]])).reshape(16, 16)
    expected = np.zeros((16, 16))
    expected[:, 0] = expected[-1] = 1.0
    np.testing.assert_array_equal(bitmap, expected)


def test_strokes_are_connected_whatever_their_slope():
    points = np.random.default_rng(0).integers(0, 101, (200, 4))
    for (x0, y0, x1, y1), bitmap in zip(points, draw_strokes(points).reshape(-1, 16, 16), strict=True):
        rows, columns = np.nonzero(bitmap)
        length = max(abs(np.rint(x0 * 0.15) - np.rint(x1 * 0.15)), abs(np.rint(y0 * 0.15) - np.rint(y1 * 0.15)))
        assert len(rows) == length + 1  # thin, and without a gap along its longer side
        assert max(np.ptp(columns), np.ptp(rows)) == length


def test_pen_views_shrink_the_bitmap():
    views = pen_views({"X": np.random.default_rng(1).integers(0, 101, (5, 16))})
    assert {name: view.shape[1] for name, view in views.items()} == {"dyn": 16, "sta4": 16, "sta8": 64, "sta16": 256}
    assert views["sta16"].max() == 1.0
    for name in ("sta4", "sta8"):
        np.testing.assert_allclose(views[name].mean(axis=1), views["sta16"].mean(axis=1))
    first = views["sta16"][0].reshape(16, 16)
    assert views["sta4"][0, 5] == first[4:8, 4:8].mean()


def test_faces_are_cut_row_by_row():
    face = np.arange(4096.0)
    views = face_views({"X": face[None, :] * 255})
    assert len(views) == 5 + 16
    np.testing.assert_array_equal(views["patch0"][0].reshape(16, 16), face.reshape(64, 64)[:16, :16])
    np.testing.assert_array_equal(views["patch6"][0].reshape(16, 16), face.reshape(64, 64)[16:32, 32:48])
    assert views["x4"][0, 6] == views["patch6"].mean()
    np.testing.assert_array_equal(shrink(views["x64"], 64, 32), views["x32"])


def test_saliency_maps_are_laid_out_as_the_patches_are():
    faces = np.random.default_rng(0).random((3, 4096)) * 255
    views = face_views({"X": faces})
    means = np.stack([views[f"patch{m}"].mean(axis=1) for m in range(16)], axis=1)
    maps = saliency_maps(means, layout=(4, 4), patch=(16, 16))
    assert maps.shape == (3, 64, 64)
    np.testing.assert_allclose(maps[:, ::16, ::16].reshape(3, 16), shrink(faces / 255.0, 64, 4))
    assert (maps[:, :16, :16] == maps[:, :1, :1]).all()
    with pytest.raises(ValueError, match="weights must have 12 columns"):
        saliency_maps(means, layout=(4, 3), patch=(16, 16))
