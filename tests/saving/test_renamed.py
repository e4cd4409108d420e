"""Parameters that were renamed keep their names in files."""

import pytest

from kernelweave.reduction import LDEGraph
from kernelweave.saving.registry import RENAMED, class_named, fields_of, name_now


@pytest.mark.parametrize("name", sorted(RENAMED))
def test_files_keep_the_names_of_parameters(name):
    value = class_named(name)()
    now, saved = vars(value), fields_of(value)
    assert set(RENAMED[name].values()) & set(saved) and not set(RENAMED[name]) & set(saved)
    assert {name_now(name, field): part for field, part in saved.items()} == now


def test_the_names_in_files_are_those_of_the_first_version():
    assert fields_of(LDEGraph(3, 4)) == {"k": 3, "k_between": 4, "among": "class"}
