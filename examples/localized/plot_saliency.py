"""
Which part of an image decides?
===============================

One kernel for each patch of an image, and gates that see the whole image at low resolution: they
decide which patches are compared at full resolution. The model then shows for each image where it
looked (Gönen 2010, Figure 5.11).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from kernelweave import MKLClassifier, datasets, stack_views
from kernelweave.combiners import Localized, Sigmoid, Softmax
from kernelweave.datasets.images import saliency_maps
from kernelweave.kernels import Linear

# %%
# Handwritten digits of 16 x 15 pixels, even against odd. If the folder ``KERNELWEAVE_DATA`` has the
# Olivetti faces, the example is about them, women against men, as in the thesis.

if "olivetti" in datasets.list_datasets().query("available").index:
    bunch = datasets.load_dataset("olivetti", "gender")
    images, y = bunch.data.filter(like="x64__").to_numpy().reshape(-1, 64, 64), bunch.target
    layout, patch, block, shown = (4, 4), (16, 16), (8, 8), [0, 6, 14, 18, 40, 62]
else:
    data = datasets.load_multifeat(target="even-vs-odd")
    images, y = (
        data.data.filter(like="pix__").to_numpy()[::4].reshape(-1, 16, 15) / 6.0,
        data.target[::4],
    )
    layout, patch, block, shown = (4, 3), (4, 5), (2, 3), [1, 24, 33, 45, 61, 92]

# %%
# One view for each patch, and one with means of small blocks of pixels, which only the gates read.
# Every fifth image is a test image.

(rows, columns), (height, width) = layout, patch
patches = (
    images.reshape(-1, rows, height, columns, width)
    .swapaxes(2, 3)
    .reshape(len(images), rows * columns, -1)
)
small = images.reshape(len(images), images.shape[1] // block[0], block[0], -1, block[1]).mean(
    axis=(2, 4)
)
names = [f"patch{number}" for number in range(rows * columns)]
X = stack_views(
    {
        "small": small.reshape(len(images), -1),
        **{name: patches[:, m] for m, name in enumerate(names)},
    }
)
test = np.arange(0, len(images), 5)
train = np.setdiff1d(np.arange(len(images)), test)
X = StandardScaler().set_output(transform="pandas").fit(X.iloc[train]).transform(X)

# %%
# With softmax gates the patches compete and few are open. With sigmoid gates each is open or closed
# by itself.

lines = {"test image": images[test[shown]], "what gates see": small[test[shown]]}
for name, gate in {"softmax": Softmax("paper"), "sigmoid": Sigmoid("paper")}.items():
    combiner = Localized(gate, inputs="small", scaling="standard", l2=0.003)
    model = MKLClassifier([Linear(patch) for patch in names], combiner, C=10.0, random_state=0)
    model.fit(X.iloc[train], y[train])
    print(f"{name} gates: {100 * model.score(X.iloc[test], y[test]):.1f} % of test images right")
    gates = saliency_maps(model.gates(X.iloc[test[shown]]), layout=layout, patch=patch)
    lines |= {f"{name} gates": gates, f"image times\n{name} gates": images[test[shown]] * gates}

# %%
# A gate of 1 is white, a closed one black. Each image has patches of its own.

figure, panels = plt.subplots(len(lines), len(shown), figsize=(6.6, 6.4), layout="constrained")
for line, (name, pictures) in zip(panels, lines.items(), strict=True):
    for panel, picture in zip(line, pictures, strict=True):
        drawn = panel.imshow(
            picture, cmap="gray", vmin=0, vmax=1, extent=(0, images.shape[2], images.shape[1], 0)
        )
        panel.set(xticks=[], yticks=[])
    line[0].set_ylabel(name, fontsize=9)
figure.colorbar(drawn, ax=panels, label="grey value, or gate", shrink=0.5)
plt.show()
