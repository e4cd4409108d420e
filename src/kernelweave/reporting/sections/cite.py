"""The section `cite`: how to cite Kernelweave and the methods in use."""

from __future__ import annotations

from typing import Any

from ... import combiners
from ..._version import __version__
from ..content import Block, Code, Section, Text
from .references import OF_COMBINERS, OF_GATES, REFERENCES
from .subject import Subject, method_in_words


def cite_section(subject: Subject) -> Section:
    """What to cite: the version of the software, and the papers of the method."""
    keys = reference_keys(subject)
    own = f"Kernelweave developers. Kernelweave, version {__version__}. Software for multiple kernel learning."
    blocks: list[Block] = [
        Text(text="If you publish results of this model, please cite the software and the papers of the method."),
        Text(text=own),
        *(Text(text=REFERENCES[key].text()) for key in keys),
        *(Text(text=text) for text in _further(subject)),
        Code(title="BibTeX", text="\n\n".join([_software(), *(REFERENCES[key].bibtex() for key in keys)])),
    ]
    return Section(id="cite", title="How to cite", blocks=blocks)


def reference_keys(subject: Subject) -> list[str]:
    """The papers of the combiner and of its gates, as keys of `REFERENCES`."""
    if subject.model is None:
        return []
    combiner = _combiner(subject)
    found = list(OF_COMBINERS.get(type(combiner), ()))
    if isinstance(combiner, combiners.Localized) and subject.task == "regression":
        found.insert(1, "localized-regression")
    found += OF_GATES.get(type(getattr(combiner, "gating_", None)), ())
    if getattr(subject.model, "soft_labels", None) is not None:
        found.append("posterior")
    return list(dict.fromkeys(found))


def _combiner(subject: Subject) -> Any:
    combiner = subject.model.combiner_
    return combiner.combiner if isinstance(combiner, combiners.PerOutput) else combiner


def _further(subject: Subject) -> list[str]:
    if subject.model is None:
        return [f"The method, {method_in_words(subject.cohort)}, uses scikit-learn, which asks to be cited, too."]
    return []


def _software() -> str:
    fields = {
        "author": "{Kernelweave developers}",
        "title": "Kernelweave: learning how to combine kernels over several descriptions of the same samples",
        "note": f"Version {__version__}",
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items()]
    return "@software{kernelweave,\n" + ",\n".join(lines) + "\n}"
