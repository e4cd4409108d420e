"""How multiple kernel learning converges: better steps are worth more than cheaper ones.

Left: ConvexMKL, whose optimum is unique. SimpleMKL's reduced gradient pays for every step of its line search with a
solve of the machine; the Newton solver also uses the curvature of the optimum, which it gets from the solution at hand,
and needs a handful of solves. Right: localized multiple kernel learning. Gradient descent with Armijo's rule, as in the
papers, needs several times the solves that L-BFGS needs with the same gradients, and still ends a little higher. Above:
the best objective so far (left: less the least one of all). Below: the support vectors there.
"""

from sklearn.preprocessing import StandardScaler

from figures import plt, save
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import ConvexMKL, Localized
from kernelweave.display import ConvergenceDisplay
from kernelweave.kernels import Linear

X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(X)[::4]
y = y[::4]
kernels = [Linear(view) for view in ["fac", "fou", "kar", "mor", "pix", "zer"]]
convex = {
    "reduced gradient (SimpleMKL)": ConvexMKL(solver="reduced-gradient"),
    "Newton": ConvexMKL(solver="newton"),
}
localized = {
    "Armijo descent": Localized(l2=0.01, optimizer="armijo"),
    "L-BFGS": Localized(l2=0.01, optimizer="lbfgs"),
}

figure, panels = plt.subplots(2, 2, figsize=(9.5, 4.8), layout="constrained", sharex="col", height_ratios=[1.6, 1.0])
for column, combiners, scale, title in zip(
    panels.T,
    (convex, localized),
    ("excess", "log"),
    ("one weight for each kernel", "localized, softmax gates"),
    strict=True,
):
    models = {
        name: MKLClassifier(kernels, combiner, C=10.0, random_state=0).fit(X, y) for name, combiner in combiners.items()
    }
    ConvergenceDisplay.from_estimators(models, ax=column, scale=scale, best_so_far=True)
    column[0].set_title(title, fontsize=10)
save(figure, "convergence.png")
