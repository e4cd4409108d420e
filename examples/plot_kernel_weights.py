"""How much does each view count? Learned kernel weights and their spread (MULTIFEAT).

Six descriptions of handwritten digits, one kernel each. Left: small against large digits, over five folds. The mean
kernel weights all views equally; multiple kernel learning is about as accurate and relies on few views, much the same
ones in every fold, as the error bars (one standard deviation) show. Right: one machine for each digit, each with kernel
weights of its own. The views that separate a digit from all others differ from digit to digit.
"""

from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from figures import plt, save
from kernelweave import MKLClassifier, datasets
from kernelweave.combiners import ConvexMKL, Mean
from kernelweave.display import KernelWeightsDisplay
from kernelweave.kernels import Linear

views = ["fac", "fou", "kar", "mor", "pix", "zer"]
scaler = StandardScaler().set_output(transform="pandas")


def model(combiner, **options):
    """Standardised features, one linear kernel for each view."""
    return make_pipeline(scaler, MKLClassifier([Linear(view) for view in views], combiner, C=10.0, **options))


figure, panels = plt.subplots(1, 2, figsize=(10.5, 4.0), layout="constrained", width_ratios=[1.25, 1])

X, y = datasets.load_multifeat(target="small-vs-large", return_X_y=True)
folds = StratifiedKFold(5, shuffle=True, random_state=0)
results = {
    name: cross_validate(model(combiner), X[::3], y[::3], cv=folds, return_estimator=True)
    for name, combiner in {"mean kernel": Mean(), "multiple kernel learning": ConvexMKL()}.items()
}
KernelWeightsDisplay.from_cv_results(results, ax=panels[0])
accuracies = [f"{name} {100 * result['test_score'].mean():.1f} %" for name, result in results.items()]
panels[0].set_title("small against large digits, five folds\naccuracy: " + ", ".join(accuracies), fontsize=10)

X, y = datasets.load_multifeat(return_X_y=True)
one_each = model(ConvexMKL(), multiclass="one-vs-all", weights="per-class").fit(X[::4], y[::4])
KernelWeightsDisplay.from_estimator(one_each, ax=panels[1])
panels[1].set_title("each digit against all others", fontsize=10)
panels[1].set_ylabel("digit")
save(figure, "kernel_weights.png")
