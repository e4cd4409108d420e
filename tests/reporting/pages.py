"""Contents of reports for the tests: every type of block, nasty names, and a great number of numbers."""

from __future__ import annotations

import numpy as np

from kernelweave.reporting.content import (
    Bars,
    Block,
    Code,
    Column,
    Contents,
    Dot,
    Dots,
    Heatmap,
    Input,
    Line,
    Lines,
    ModelRecord,
    Provenance,
    Scatter,
    Section,
    Table,
    Text,
)

NASTY = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "'; alert(3); //",
    "]]> --> </svg></template></style></div>",
    "javascript:alert(4) &amp; &lt;b&gt; {{ 7 * 7 }} {% raw %}",
    "naïve 样本 🧬 \u202eabc\u202c | pipe * star _under_ `tick`",
    "x" * 400,
    "two\nlines\ttab \x00 null \ud800",
    "",
    " ",
    "</script><script>alert(5)</script>",
    "<template shadowrootmode=open><p id=injected>",
]
METHODS = [
    ("localized combination", 0.971, 0.012, 312, 41.2, 0.03),
    ("gradient boosting", 0.958, 0.015, None, 3.4, None),
    ("convex combination", 0.957, 0.011, 402, 6.1, 0.41),
    ("mean of all kernels", 0.953, 0.014, 455, 0.8, 0.62),
    ("stacking", 0.949, 0.020, 1210, 8.8, 0.71),
    ("random forest", 0.947, 0.018, None, 1.9, 0.25),
    ("logistic regression", 0.931, 0.021, None, 0.09, 0.004),
    ("profile correlations alone", 0.921, 0.017, 498, 0.5, 0.0002),
    ("morphological features alone", 0.712, 0.030, 1630, 0.4, 1e-9),
]


def table_of_methods(names: list[str]) -> Table:
    columns = [
        Column("method"),
        Column("accuracy", "percent", "mean over 5 folds, 2 times"),
        Column("spread", "percent", "standard deviation over the folds"),
        Column("stored samples", "count"),
        Column("time", "seconds", "of one fit with its inner search"),
        Column("p", "p-value", "paired test against the best simple baseline"),
    ]
    rows = [[name, *row[1:]] for name, row in zip(names, METHODS, strict=True)]
    return Table(
        title="All methods, nested cross-validation", columns=columns, rows=rows, marked=[0], note="2,000 samples."
    )


def charts(names: list[str], groups: list[str], *, points: int, seed: int = 0) -> dict[str, list[Block]]:
    """Blocks of each section that has charts."""
    random = np.random.default_rng(seed)
    return charts_of_views(names, groups, random) | charts_of_samples(names, groups, points, random)


def charts_of_views(names: list[str], groups: list[str], random: np.random.Generator) -> dict[str, list[Block]]:
    """Blocks of the sections on methods, views and weights."""
    dots = [Dot(n, r[1], r[1] - r[2], r[1] + r[2]) for n, r in zip(names, METHODS, strict=True)]
    views = names[:5]
    pairs = [Dot(v, float(random.uniform(0.6, 0.95)), series=s) for s in ("alone", "without it") for v in views]
    return {
        "methods": [
            Dots(
                title="Accuracy of each method",
                description="Mean over the folds and one standard deviation to both sides.",
                axis="accuracy",
                dots=dots,
                kind="percent",
                reference=0.958,
                reference_label="best simple baseline",
                marked=[names[0]],
            )
        ],
        "views": [
            Dots(
                title="What each view gives",
                description="Accuracy of the model with this view alone, and with all views but this one.",
                axis="accuracy",
                dots=pairs,
                kind="percent",
                reference=0.971,
                reference_label="all views",
            )
        ],
        "weights": [
            Heatmap(
                title="Weights by class",
                description="The share of each view in the combined kernel of each class.",
                rows=groups,
                columns=views,
                values=random.dirichlet(np.ones(5), len(groups)).tolist(),
                row_axis="class",
                column_axis="view",
                kind="percent",
            ),
            Heatmap(
                title="Loadings",
                description="Coefficients of the projection; orange is negative.",
                rows=["first", "second", "third"],
                columns=views,
                values=[[0.5, -0.2, None, 1.2, 0.0], [0.1, -1.0, 0.3, 0.4, -0.6], [-0.01, 0.7, 0.2, -0.3, 0.9]],
                signed=True,
            ),
        ],
    }


def charts_of_samples(
    names: list[str], groups: list[str], points: int, random: np.random.Generator
) -> dict[str, list[Block]]:
    """Blocks of the sections on gates, contributions and certificates."""
    views = names[:5]
    group = random.integers(len(groups), size=points)
    centres = random.normal(0, 4, (len(groups), 2))
    places = centres[group] + random.normal(0, 1, (points, 2))
    values = random.normal(0, 1, (12, len(views)))
    samples = [f"{names[i % len(names)]} {i}"[:60] if i < 9 else f"sample {i}" for i in range(max(points, 12))]
    steps = list(range(40))
    return {
        "gates": [
            Scatter(
                title="Gates over the samples",
                description="Two principal components; symbols show the view with the largest gate.",
                x=places[:, 0].tolist(),
                y=places[:, 1].tolist(),
                group=group.tolist(),
                groups=groups,
                label=samples[:points],
                about=[
                    f"true class {g}, gate {v:.2f}" for g, v in zip(group, random.uniform(size=points), strict=True)
                ],
                x_axis="first component",
                y_axis="second component",
                note=f"{points} of 5,210 samples are drawn.",
            )
        ],
        "contributions": [
            Bars(
                title="Samples that the model is least sure of",
                description="What each view adds to the decision value.",
                axis="contribution to the decision value",
                labels=samples[:12],
                parts=views,
                values=values.tolist(),
                totals=values.sum(1).tolist(),
                total_label="decision value",
                notes=[f"true: {groups[i % len(groups)]}, predicted: {groups[0]}" for i in range(12)],
            )
        ],
        "certificates": [
            Lines(
                title="Convergence",
                description="Relative duality gap after each step, one line for each restart.",
                x_axis="step",
                y_axis="relative duality gap",
                lines=[
                    Line(f"restart {r}", [float(s) for s in steps], [10 ** (-s / (5 + r) - r / 3) for s in steps])
                    for r in range(4)
                ],
                log=True,
            )
        ],
    }


def contents(names: list[str], groups: list[str], *, title: str, points: int = 300) -> Contents:
    drawn = charts(names, groups, points=points)
    missing = Table(
        title="Columns",
        columns=[Column("column"), Column("kind"), Column("missing", "percent"), Column("why")],
        rows=[[name, "number", 0.05, "more than ten different numbers"] for name in names],
    )
    bibtex = "@phdthesis{gonen2010,\n  title = {Bayesian and Multiple Kernel Learning},\n\n  year = {2010},\n}"
    sections = [
        (
            "methods",
            "Methods",
            [Text(text=f"Use {names[0]}.", strong=True), table_of_methods(names), *drawn["methods"]],
        ),
        ("views", "What each view gives", drawn["views"]),
        ("weights", "Weights by class", drawn["weights"]),
        ("gates", "Gates", [Text(text="The gates choose a view for each sample."), *drawn["gates"]]),
        ("contributions", "Samples that the model is least sure of", drawn["contributions"]),
        ("certificates", "Certificates", drawn["certificates"]),
        ("data", "Data", [Text(text=f"Files: {', '.join(names[:3])}."), missing]),
        ("cite", "How to cite", [Code(text=bibtex, title="BibTeX")]),
    ]
    return Contents(
        title=title,
        headline=[
            f"Use {names[0]}: it is right for 97.1 % of new samples.",
            f"The best simple method, {names[1]}, reaches 95.8 %; a paired test finds a difference this large in "
            "3 of 100 comparisons of equal methods.",
        ],
        sections=[Section(id=i, title=t, blocks=b) for i, t, b in sections],
        data={"best": names[0]},
        versions={"kernelweave": "0.1.0", "scikit-learn": "1.6.1"},
        provenance=provenance(names),
    )


def provenance(names: list[str]) -> Provenance:
    inputs = [Input(name=f"{n}.csv", what=f"view {n}", sha256=64 * "a", bytes=12345, rows=200) for n in names]
    inputs.append(Input(name="parts", what="views", kind="folder", sha256=64 * "b", bytes=10**10))
    model = ModelRecord(version=names[0], seed=names[1], inputs=inputs[:1])
    command = f"kernelweave compare {' '.join(names)} --out 5 % of"
    return Provenance(date="2026-02-03T14:05:06+00:00", command=command, seed=7, inputs=inputs, model=model)


def usual() -> Contents:
    """A report such as people get."""
    return contents([m[0] for m in METHODS], [f"digit {d}" for d in range(6)], title="Handwritten digits, six views")


def nasty() -> Contents:
    """The same with names that try to be markup."""
    return contents(NASTY[:9], [*NASTY[:6], *NASTY[9:]], title=NASTY[0] + NASTY[4])


def large() -> Contents:
    """2,000 points with long texts, 30 classes, and tables of thousands of rows."""
    names, classes = [f"{m[0]} of {'a long name ' * 8}" for m in METHODS], [f"class {c}" for c in range(30)]
    made = contents(names, classes, title="Large", points=2000)
    rows = [[f"column {i} {'of many ' * 6}", "number", i / 5000, "more than ten numbers"] for i in range(5000)]
    columns = [Column("column"), Column("kind"), Column("missing", "percent"), Column("why")]
    table = Table(title="Columns", columns=columns, rows=rows)
    random = np.random.default_rng(1)
    heat = Heatmap(
        title="Large matrix",
        description="",
        rows=[f"row {i}" for i in range(200)],
        columns=[f"column {i}" for i in range(150)],
        values=random.normal(size=(200, 150)).tolist(),
    )
    return Contents(
        title=made.title,
        headline=made.headline,
        sections=[*made.sections, Section(id="more", title="More", blocks=[table, heat])],
    )
