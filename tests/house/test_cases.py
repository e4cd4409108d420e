"""`cases.each`: every case is run from the same random numbers, and the failing ones are named."""

import numpy as np
import pytest

from cases import each, run_all

rng = np.random.default_rng(0)


def test_every_case_runs_and_those_that_fail_are_named():
    seen = []

    @each("a", [1, 2, 3])
    @each(("b", "c"), [(10, "x"), (20, "y")])
    def case(a, b, c):
        seen.append((a, b, c, rng.random()))
        if a == 2:
            with pytest.raises(ValueError, match="nothing"):
                pass
        assert b == 10 or a != 3

    with pytest.raises(ExceptionGroup, match="2 of 3 cases failed: in the case 1: a=2; in the case 2: a=3") as found:
        case()
    assert [row[:3] for row in seen] == [(a, *rest) for a in (1, 2, 3) for rest in ((10, "x"), (20, "y"))]
    assert len({row[3] for row in seen}) == 1  # the same random number in each
    second, third = found.value.exceptions
    assert len(second.exceptions) == 2 and "DID NOT RAISE" in str(second.exceptions[0])
    assert "b=20, c=y" in str(third) and isinstance(third.exceptions[0], AssertionError)


def test_cases_that_are_skipped_do_not_hide_others():
    def skipped():
        pytest.skip("not here")

    run_all({"first": skipped, "second": lambda: None})
    with pytest.raises(pytest.skip.Exception, match="first: not here"):
        run_all({"first": skipped})
    with pytest.raises(ExceptionGroup, match="1 of 2 cases failed: in the case second"):
        run_all({"first": skipped, "second": lambda: 1 / 0})


@each("value", [0, 1])
def test_fixtures_come_beside_cases(tmp_path, value):
    assert tmp_path.exists() and value in (0, 1)
