"""`Collection`: one table over several data sets, each of them an experiment with the same methods."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from .claim import Claim
from .declaration import Experiment, Paper

_SHARED = ("task", "baseline", "grid", "protocol", "standardize", "normalize", "costs", "normalize_weights")


@dataclass(frozen=True)
class Collection:
    """A table with several data sets.

    Attributes
    ----------
    name, title, source, note, claim
        As of an `Experiment`.
    members : tuple of Experiment
        One per data set; they differ in data and in the paper's figures only.
    paper_counts : mapping from (method, measure) to three of str
        The paper's wins-ties-losses of a method against the baseline: by its test, by comparison of the averages, and
        the letter of Wilcoxon's test.
    """

    name: str
    title: str
    _: KW_ONLY
    source: str
    members: tuple[Experiment, ...]
    note: str = ""
    paper_counts: Mapping[tuple[str, str], tuple[str, str, str]] = field(default_factory=dict)
    claim: Claim | None = None

    def __post_init__(self):
        if not self.members:
            raise ValueError(f"collection {self.name!r} needs at least one experiment")
        if len({member.name for member in self.members}) < len(self.members):
            raise ValueError(f"experiments of collection {self.name!r} must have unique names")
        first = self.members[0]
        if self.claim is not None:
            self.claim.check(self.name, [method.name for method in first.methods])
        for member in self.members:
            unlike = [name for name in _SHARED if getattr(member, name) != getattr(first, name)]
            if [method.name for method in member.methods] != [method.name for method in first.methods]:
                unlike.append("methods")
            if unlike:
                raise ValueError(
                    f"experiments {first.name!r} and {member.name!r} of collection {self.name!r} must not differ in "
                    f"{', '.join(unlike)}"
                )

    @property
    def dataset_names(self) -> list[str]:
        """The data sets, as `load_dataset` names them."""
        return [member.dataset for member in self.members]

    @property
    def data_label(self) -> str:
        """Data sets and variants in words."""
        return ", ".join(member.data_label for member in self.members)

    @property
    def n_methods(self) -> int:
        """How many methods are compared."""
        return len(self.members[0].methods)


def over_datasets(
    template: Experiment, data: Sequence[tuple[str, str | None, str, Sequence[Paper | None]]]
) -> tuple[Experiment, ...]:
    """One experiment per data set, from a template.

    Parameters
    ----------
    template : Experiment
        All but data, name, title and the paper's figures; its name is the table's.
    data : sequence of (dataset, variant, title, papers)
        With the paper's figures of each method, in order.

    Examples
    --------
    >>> from kernelweave.experiments import find_experiment, over_datasets
    >>> template = find_experiment("5.10-heart")
    >>> [member.name for member in over_datasets(template, [("iris", "merged", "IRIS", (None, None))])]
    ['5.10-heart-iris-merged']
    """
    members = []
    for dataset, variant, title, papers in data:
        methods = tuple(
            dataclasses.replace(method, paper=paper) for method, paper in zip(template.methods, papers, strict=True)
        )
        name = f"{template.name}-{dataset}" + ("" if variant is None else f"-{variant}")
        changes: dict[str, Any] = {
            "name": name,
            "title": title,
            "dataset": dataset,
            "variant": variant,
            "methods": methods,
        }
        members.append(dataclasses.replace(template, **changes))
    return tuple(members)
