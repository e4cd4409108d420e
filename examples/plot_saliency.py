"""Sixteen patches of a face, each with a gate that is a function of the face at 8 x 8 pixels.

Men against women of the Olivetti faces. A linear kernel on each patch of 16 x 16 pixels, and gates that are functions
of the same image at low resolution: they decide which patches are compared at full resolution (Gönen 2010, Figure
5.11). With softmax gates the patches compete and few are open; with sigmoid gates each is open or closed by itself.
Bright patches have open gates; a gate multiplies its patch.

The faces are not part of the package; without them the script prints a message and draws nothing.
"""

import numpy as np
from sklearn.preprocessing import StandardScaler

from figures import plt, save
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import Localized, Sigmoid, Softmax
from kernelweave.datasets.images import saliency_maps
from kernelweave.kernels import Linear

PATCHES = [f"patch{number}" for number in range(16)]
SHOWN = [0, 3, 7, 9, 20, 31, 34]  # subjects: three of them are women
GATES = {"softmax gates": Softmax("paper"), "sigmoid gates": Sigmoid("paper")}


def draw(bunch):
    """Fit both models on eight images of each subject and draw a test image of some."""
    subject = bunch.original_target
    first_two = np.concatenate([np.flatnonzero(subject == number)[:2] for number in np.unique(subject)])
    train = np.setdiff1d(np.arange(len(subject)), first_two)
    scaler = StandardScaler().set_output(transform="pandas").fit(bunch.data.iloc[train])
    X = scaler.transform(bunch.data)
    chosen = [first_two[2 * number] for number in SHOWN]
    faces = bunch.data.filter(like="x64__").to_numpy()[chosen].reshape(-1, 64, 64)
    small = bunch.data.filter(like="x8__").to_numpy()[chosen].reshape(-1, 8, 8)
    rows = [("test image", faces), ("what the gates see", small)]
    for name, gate in GATES.items():
        combiner = Localized(gate, inputs="x8", scaling="standard", l2=0.003)
        model = MKLClassifier([Linear(patch) for patch in PATCHES], combiner, C=10.0, random_state=0)
        model.fit(X.iloc[train], bunch.target[train])
        accuracy = 100 * model.score(X.iloc[first_two], bunch.target[first_two])
        print(f"{name}: test accuracy {accuracy:.2f} %, support vectors {100 * len(model.support_) / len(train):.1f} %")
        weights = model.gates(X.iloc[chosen])
        rows.append((name, saliency_maps(weights, layout=(4, 4), patch=(16, 16))))
        rows.append(("image times gates", faces * rows[-1][1]))
    figure, panels = plt.subplots(len(rows), len(SHOWN), figsize=(8.4, 7.4), layout="constrained")
    for line, (name, images) in zip(panels, rows, strict=True):
        for panel, image in zip(line, images, strict=True):
            panel.imshow(image, cmap="gray", vmin=0, vmax=1)
            panel.set_xticks([])
            panel.set_yticks([])
        line[0].set_ylabel(name, fontsize=8)
    save(figure, "saliency.png")


if "olivetti" in datasets.list_datasets().query("available").index:
    draw(datasets.load_dataset("olivetti", "gender"))
else:
    print("Nothing is drawn: the Olivetti faces are absent. Name the folder with olivetti.npz in KERNELWEAVE_DATA.")
