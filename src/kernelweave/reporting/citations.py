"""The section `cite`: Kernelweave and a model's papers, as in Gönen's thesis (2010) where it has the paper."""

from __future__ import annotations

from dataclasses import dataclass

from .. import combiners
from .._version import __version__
from .content import Code, Section, Text
from .subject import Subject, method_in_words
from .words import inner_combiner, listed


def cite_section(subject: Subject) -> Section:
    keys = reference_keys(subject)
    own = f"Kernelweave developers. Kernelweave, version {__version__}. Software for multiple kernel learning."
    lines = ["If you publish results of this model, please cite the software and the papers of the method.", own]
    lines += [REFERENCES[key].text() for key in keys]
    if subject.model is None:
        method = method_in_words(subject.cohort)
        lines.append(f"The method, {method}, uses scikit-learn, which asks to be cited, too.")
    entries = Code(title="BibTeX", text="\n\n".join([_software(), *(REFERENCES[key].bibtex() for key in keys)]))
    return Section(id="cite", title="How to cite", blocks=[*(Text(text=line) for line in lines), entries])


def reference_keys(subject: Subject) -> list[str]:
    """The papers of the combiner and of its gates, as keys of `REFERENCES`."""
    if subject.model is None:
        return []
    combiner = inner_combiner(subject.model.combiner_)
    found = list(OF_COMBINERS.get(type(combiner), ()))
    if isinstance(combiner, combiners.Localized) and subject.task == "regression":
        found.insert(1, "localized-regression")
    found += OF_GATES.get(type(getattr(combiner, "gating_", None)), ())
    if getattr(subject.model, "soft_labels", None) is not None:
        found.append("posterior")
    return list(dict.fromkeys(found))


def _software() -> str:
    fields = {
        "author": "{Kernelweave developers}",
        "title": "Kernelweave: learning how to combine kernels over several descriptions of the same samples",
        "note": f"Version {__version__}",
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items()]
    return "@software{kernelweave,\n" + ",\n".join(lines) + "\n}"


@dataclass(frozen=True)
class Reference:
    key: str
    kind: str  # {"article", "inproceedings", "phdthesis", "misc"}
    authors: tuple[str, ...]  # "Surname, Initials"
    title: str
    where: str  # the journal, proceedings or school
    year: int
    details: tuple[tuple[str, str], ...] = ()  # further fields of BibTeX, such as volume and pages

    def text(self) -> str:
        """The reference as a line of a bibliography."""
        authors = listed(self.authors, len(self.authors))
        details = dict(self.details)
        pages = details.get("pages", "").replace("--", "–")
        place = ", ".join(part for part in (self.where, details.get("volume", ""), pages) if part)
        return f"{authors} ({self.year}). {self.title}." + (f" {place}." if place else "")

    def bibtex(self) -> str:
        """The reference as an entry of BibTeX.

        >>> print(REFERENCES["thesis"].bibtex())
        @phdthesis{gonen2010thesis,
          author = {Gönen, M.},
          title = {Localized multiple kernel algorithms for machine learning},
          school = {Boğaziçi University},
          year = {2010}
        }
        """
        places = {"article": "journal", "inproceedings": "booktitle", "phdthesis": "school"}
        place = places.get(self.kind, "howpublished")
        fields = {"author": " and ".join(self.authors), "title": self.title, place: self.where, "year": str(self.year)}
        lines = [f"  {name} = {{{value}}}" for name, value in {**fields, **dict(self.details)}.items() if value]
        return f"@{self.kind}{{{self.key},\n" + ",\n".join(lines) + "\n}"


_NIPS = "Advances in Neural Information Processing Systems"
_ICML = "International Conference on Machine Learning"

REFERENCES = {
    "thesis": Reference(
        "gonen2010thesis",
        "phdthesis",
        ("Gönen, M.",),
        "Localized multiple kernel algorithms for machine learning",
        "Boğaziçi University",
        2010,
    ),
    "localized": Reference(
        "gonen2008localized",
        "inproceedings",
        ("Gönen, M.", "Alpaydın, E."),
        "Localized multiple kernel learning",
        f"Proceedings of the 25th {_ICML}",
        2008,
    ),
    "convex-localized": Reference(
        "lei2016localized",
        "inproceedings",
        ("Lei, Y.", "Binder, A.", "Dogan, U.", "Kloft, M."),
        "Localized multiple kernel learning: a convex approach",
        "Proceedings of the 8th Asian Conference on Machine Learning",
        2016,
        (("volume", "63"), ("series", "Proceedings of Machine Learning Research"), ("pages", "81--96")),
    ),
    "localized-regression": Reference(
        "gonen2010regression",
        "inproceedings",
        ("Gönen, M.", "Alpaydın, E."),
        "Localized multiple kernel regression",
        "Proceedings of the 20th International Conference on Pattern Recognition",
        2010,
    ),
    "projected": Reference(
        "gonen2010projection",
        "article",
        ("Gönen, M.", "Alpaydın, E."),
        "Supervised learning of local projection kernels",
        "Neurocomputing",
        2010,
        (("volume", "73"), ("number", "10--12"), ("pages", "1694--1703")),
    ),
    "sldr": Reference(
        "gonen2010sldr",
        "misc",
        ("Gönen, M.", "Alpaydın, E."),
        "Supervised and localized dimensionality reduction from multiple feature representations or kernels",
        "",
        2010,
    ),
    "cluster-gate": Reference(
        "yang2009group",
        "inproceedings",
        ("Yang, J.", "Li, Y.", "Tian, Y.", "Duan, L.", "Gao, W."),
        "Group-sensitive multiple kernel learning for object categorization",
        "Proceedings of the 12th IEEE International Conference on Computer Vision",
        2009,
    ),
    "instance-gate": Reference(
        "yang2010sample",
        "article",
        ("Yang, J.", "Li, Y.", "Tian, Y.", "Duan, L.", "Gao, W."),
        "Per-sample multiple kernel approach for visual concept learning",
        "EURASIP Journal on Image and Video Processing",
        2010,
    ),
    "convex": Reference(
        "bach2004conic",
        "inproceedings",
        ("Bach, F. R.", "Lanckriet, G. R. G.", "Jordan, M. I."),
        "Multiple kernel learning, conic duality, and the SMO algorithm",
        f"Proceedings of the 21st {_ICML}",
        2004,
    ),
    "sdp": Reference(
        "lanckriet2004learning",
        "article",
        ("Lanckriet, G. R. G.", "Cristianini, N.", "Bartlett, P.", "El Ghaoui, L.", "Jordan, M. I."),
        "Learning the kernel matrix with semidefinite programming",
        "Journal of Machine Learning Research",
        2004,
        (("volume", "5"), ("pages", "27--72")),
    ),
    "simple": Reference(
        "rakotomamonjy2008simplemkl",
        "article",
        ("Rakotomamonjy, A.", "Bach, F. R.", "Canu, S.", "Grandvalet, Y."),
        "SimpleMKL",
        "Journal of Machine Learning Research",
        2008,
        (("volume", "9"), ("pages", "2491--2521")),
    ),
    "lp": Reference(
        "kloft2010efficient",
        "inproceedings",
        ("Kloft, M.", "Brefeld, U.", "Sonnenburg, S.", "Laskov, P.", "Müller, K.-R.", "Zien, A."),
        "Efficient and accurate lp-norm multiple kernel learning",
        f"{_NIPS} 22",
        2010,
    ),
    "elastic": Reference(
        "longworth2009combining",
        "article",
        ("Longworth, C.", "Gales, M. J. F."),
        "Combining derivative and parametric kernels for speaker verification",
        "IEEE Transactions on Audio, Speech, and Language Processing",
        2009,
        (("volume", "17"), ("number", "4"), ("pages", "748--757")),
    ),
    "group": Reference(
        "szafranski2008composite",
        "inproceedings",
        ("Szafranski, M.", "Grandvalet, Y.", "Rakotomamonjy, A."),
        "Composite kernel learning",
        f"Proceedings of the 25th {_ICML}",
        2008,
    ),
    "sparse": Reference(
        "subrahmanya2010sparse",
        "article",
        ("Subrahmanya, N.", "Shin, Y. C."),
        "Sparse multiple kernel learning for signal processing applications",
        "IEEE Transactions on Pattern Analysis and Machine Intelligence",
        2010,
        (("volume", "32"), ("number", "5"), ("pages", "788--798")),
    ),
    "selection": Reference(
        "xu2009nonmonotonic",
        "inproceedings",
        ("Xu, Z.", "Jin, R.", "Ye, J.", "Lyu, M. R.", "King, I."),
        "Non-monotonic feature selection",
        f"Proceedings of the 26th {_ICML}",
        2009,
    ),
    "easy": Reference(
        "aiolli2015easymkl",
        "article",
        ("Aiolli, F.", "Donini, M."),
        "EasyMKL: a scalable multiple kernel learning algorithm",
        "Neurocomputing",
        2015,
        (("volume", "169"), ("pages", "215--224")),
    ),
    "alignment": Reference(
        "cristianini2002alignment",
        "inproceedings",
        ("Cristianini, N.", "Shawe-Taylor, J.", "Elisseeff, A.", "Kandola, J."),
        "On kernel-target alignment",
        f"{_NIPS} 14",
        2002,
    ),
    "framework": Reference(
        "qiu2009framework",
        "article",
        ("Qiu, S.", "Lane, T."),
        "A framework for multiple kernel support vector regression and its applications to siRNA efficacy prediction",
        "IEEE/ACM Transactions on Computational Biology and Bioinformatics",
        2009,
        (("volume", "6"), ("number", "2"), ("pages", "190--199")),
    ),
    "simple-rules": Reference(
        "tanabe2008simple",
        "inproceedings",
        ("Tanabe, H.", "Ho, T. B.", "Nguyen, C. H.", "Kawasaki, S."),
        "Simple but effective methods for combining kernels in computational biology",
        "Proceedings of IEEE International Conference on Research, Innovation and Vision for the Future",
        2008,
    ),
    "ideal": Reference(
        "he2008fast",
        "inproceedings",
        ("He, J.", "Chang, S.-F.", "Xie, L."),
        "Fast kernel learning for spatial pyramid matching",
        "Proceedings of the IEEE Computer Society Conference on Computer Vision and Pattern Recognition",
        2008,
    ),
    "measure": Reference(
        "nguyen2008measure",
        "article",
        ("Nguyen, C. H.", "Ho, T. B."),
        "An efficient kernel matrix evaluation measure",
        "Pattern Recognition",
        2008,
        (("volume", "41"), ("number", "11"), ("pages", "3366--3372")),
    ),
    "divergence": Reference(
        "ying2009fold",
        "article",
        ("Ying, Y.", "Huang, K.", "Campbell, C."),
        "Enhanced protein fold recognition through a novel data integration approach",
        "BMC Bioinformatics",
        2009,
        (("volume", "10"), ("number", "1"), ("pages", "267")),
    ),
    "continuous": Reference(
        "argyriou2005learning",
        "inproceedings",
        ("Argyriou, A.", "Micchelli, C. A.", "Pontil, M."),
        "Learning convex combinations of continuously parameterized basic kernels",
        "Proceedings of the 18th Annual Conference on Learning Theory",
        2005,
    ),
    "infinite": Reference(
        "gehler2008infinite",
        "misc",
        ("Gehler, P. V.", "Nowozin, S."),
        "Infinite kernel learning",
        "Technical report 178, Max Planck Institute for Biological Cybernetics",
        2008,
    ),
    "polynomial": Reference(
        "cortes2010nonlinear",
        "inproceedings",
        ("Cortes, C.", "Mohri, M.", "Rostamizadeh, A."),
        "Learning non-linear combinations of kernels",
        f"{_NIPS} 22",
        2010,
    ),
    "generalized": Reference(
        "varma2009generality",
        "inproceedings",
        ("Varma, M.", "Babu, B. R."),
        "More generality in efficient multiple kernel learning",
        f"Proceedings of the 26th {_ICML}",
        2009,
    ),
    "difference": Reference(
        "dediego2004combining",
        "inproceedings",
        ("de Diego, I. M.", "Moguerza, J. M.", "Muñoz, A."),
        "Combining kernel information for support vector classification",
        "Proceedings of the 4th International Workshop Multiple Classifier Systems",
        2004,
    ),
    "posterior": Reference(
        "gonen2008posterior",
        "article",
        ("Gönen, M.", "Tanuğur, A. G.", "Alpaydın, E."),
        "Multiclass posterior probability support vector machines",
        "IEEE Transactions on Neural Networks",
        2008,
        (("volume", "19"), ("number", "1"), ("pages", "130--139")),
    ),
}

OF_COMBINERS: dict[type, tuple[str, ...]] = {
    combiners.Mean: ("thesis",),
    combiners.FixedWeights: ("thesis",),
    combiners.BestSingle: ("thesis",),
    combiners.Product: ("thesis",),
    combiners.AccuracyWeights: ("simple-rules",),
    combiners.CorrelationWeights: ("framework",),
    combiners.ErrorWeights: ("framework",),
    combiners.AlignmentWeights: ("alignment", "framework"),
    combiners.IdealKernelDistance: ("ideal", "thesis"),
    combiners.FeatureSpaceMeasure: ("measure", "simple-rules"),
    combiners.KLDivergence: ("divergence",),
    combiners.ConvexMKL: ("convex", "simple", "thesis"),
    combiners.LpMKL: ("lp", "thesis"),
    combiners.ElasticMKL: ("elastic",),
    combiners.GroupMKL: ("group",),
    combiners.SparseMKL: ("sparse",),
    combiners.WidthMKL: ("infinite", "continuous"),
    combiners.BinaryMKL: ("selection",),
    combiners.LinearMKL: ("sdp",),
    combiners.EasyMKL: ("easy",),
    combiners.PolynomialMKL: ("polynomial", "thesis"),
    combiners.GeneralizedMKL: ("generalized", "thesis"),
    combiners.KernelDifference: ("difference",),
    combiners.ConvexLocalized: ("convex-localized",),
    combiners.Localized: ("localized", "thesis"),
    combiners.Projected: ("projected", "sldr", "thesis"),
}
OF_GATES: dict[type, tuple[str, ...]] = {
    combiners.ClusterGate: ("cluster-gate",),
    combiners.InstanceGate: ("instance-gate",),
}
