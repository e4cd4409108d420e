"""How to cite: the papers of the combiner in use, as text and BibTeX."""

import re

import pytest

from kernelweave import MKLClassifier, MKLRegressor, __version__, combiners
from kernelweave.combiners import ClusterGate, Combiner, ConvexMKL, EasyMKL, Localized
from kernelweave.kernels import Linear
from kernelweave.reporting.citations import OF_COMBINERS, OF_GATES, REFERENCES
from kernelweave.reporting.words import combiner_in_words
from reported import blocks, cohort, report, text

NOT_CITED = {combiners.PerOutput, combiners.ChosenWeights, combiners.DescentCombiner, Combiner}
KERNELS = [Linear("rna"), Linear("protein")]


def all_combiners():
    found = [getattr(combiners, name) for name in combiners.__all__]
    found = [one for one in found if isinstance(one, type) and issubclass(one, Combiner)]
    return [one for one in found if one not in NOT_CITED and not one.__abstractmethods__]


def test_every_combiner_has_a_reference_and_words():
    for cls in all_combiners():
        assert cls in OF_COMBINERS
        required = {combiners.FixedWeights: [1.0], combiners.GroupMKL: ["a"], combiners.BinaryMKL: 1}
        assert combiner_in_words(cls(required[cls]) if cls in required else cls()) != cls.__name__


def test_every_reference_is_used_and_known():
    keys = {key for found in (*OF_COMBINERS.values(), *OF_GATES.values()) for key in found}
    assert keys | {"localized-regression", "posterior"} == set(REFERENCES)


@pytest.mark.parametrize("key", sorted(REFERENCES))
def test_entries_are_well_formed(key):
    entry = REFERENCES[key].bibtex()
    assert re.fullmatch(r"@[a-z]+\{[a-z0-9]+,\n(  [a-z]+ = \{[^{}]+\},?\n)+\}", entry)
    assert entry.count("{") == entry.count("}")
    assert REFERENCES[key].title in REFERENCES[key].text()
    assert str(REFERENCES[key].year) in REFERENCES[key].text()


def test_keys_of_bibtex_differ():
    keys = [reference.key for reference in REFERENCES.values()]
    assert len(set(keys)) == len(keys)


def test_software_and_method_are_cited():
    X, y = cohort()
    found = report(MKLClassifier(KERNELS, ConvexMKL()).fit(X, y), X, y)
    assert f"Kernelweave, version {__version__}" in text(found, "cite")
    assert "Multiple kernel learning, conic duality, and the SMO algorithm" in text(found, "cite")
    code = blocks(found, "cite", "code")[0].text
    assert "@software{kernelweave," in code
    assert "@inproceedings{bach2004conic," in code
    assert found.versions["kernelweave"] == __version__


def test_gates_and_targets_add_their_papers():
    X, y = cohort()
    local = MKLClassifier(KERNELS, Localized(ClusterGate(2), l2=0.01), random_state=0).fit(X, y)
    assert "Localized multiple kernel learning" in text(report(local, X, y), "cite")
    assert "Group-sensitive multiple kernel learning" in text(report(local, X, y), "cite")
    regression = MKLRegressor(KERNELS, Localized(l2=0.01), random_state=0).fit(X, X["rna__0"])
    assert "Localized multiple kernel regression" in text(report(regression, X), "cite")
    easy = report(MKLClassifier(KERNELS, EasyMKL()).fit(X, y), X, y)
    assert "Aiolli, F. and Donini, M. (2015). EasyMKL" in text(easy, "cite")
    assert "@article{aiolli2015easymkl," in blocks(easy, "cite", "code")[0].text
