"""Claims of papers."""

import dataclasses

import pytest

from experiments.declaration import Claim
from small_experiment import SEVERAL, SMALL


@pytest.mark.parametrize("field", ["ahead_of", "no_worse_than", "sparser_than", "cheaper_than", "simpler"])
def test_claims_name_methods_of_the_table(field):
    claim = Claim("Both are better", "both", own="all", **{field: ("petal",)})
    assert dataclasses.replace(SMALL, claim=claim).claim is claim
    wrong = dataclasses.replace(claim, **{field: ("petal", "sepal")})
    with pytest.raises(ValueError, match=r"the claim of 'small' names methods that are not there: \['sepal'\]"):
        dataclasses.replace(SMALL, claim=wrong)


def test_row_and_own_form_are_methods_too():
    for claim in (Claim("Better", "neither"), Claim("Better", "both", own="neither")):
        with pytest.raises(ValueError, match="neither"):
            dataclasses.replace(SMALL, claim=claim)
    with pytest.raises(ValueError, match="the claim of 'several'"):
        dataclasses.replace(SEVERAL, claim=Claim("Better", "both"))
