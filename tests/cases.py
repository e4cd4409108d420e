"""Many cheap cases of one property in one test.

A test of its own takes pytest 5 ms for each case, to collect it in two workers, to run it and to report it, which is
longer than most cases. `each` runs all of them, whatever fails, and then names those that failed. Use it where cases
take milliseconds, and ``pytest.mark.parametrize`` for what takes longer or needs fixtures of its own.
"""

import functools
import inspect
import itertools

import numpy as np
import pytest


def each(names, values):
    """Decorate a test as ``pytest.mark.parametrize(names, values)`` does, but all values are one test."""
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    values = list(values)

    def decorate(test):
        given = inspect.signature(test)

        @functools.wraps(test)
        def run(*args, **fixtures):
            generators = [(g, g.bit_generator.state) for g in _generators(test)]
            cases = {}
            for number, value in enumerate(values):
                chosen = dict(zip(names, value if len(names) > 1 else [value], strict=True))
                cases[f"{number}: {_short(chosen)}"] = functools.partial(
                    _from_the_same_numbers, generators, test, *args, **fixtures, **chosen
                )
            run_all(cases)

        run.__signature__ = given.replace(parameters=[p for p in given.parameters.values() if p.name not in names])
        return run

    return decorate


def run_all(cases):
    """Call each of a mapping of names to functions, then fail with the errors of those that failed."""
    errors, skipped = [], []
    for name, case in cases.items():
        try:
            case()
        except (Exception, pytest.fail.Exception) as error:
            if not isinstance(error, Exception):  # pytest's own, such as of `pytest.raises`
                error = AssertionError(str(error)).with_traceback(error.__traceback__)
            error.add_note(f"in the case {name}")
            errors.append(error)
        except pytest.skip.Exception as reason:
            skipped.append(f"{name}: {reason}")
    if errors:
        failed = "; ".join(note for error in errors for note in error.__notes__[-1:])
        raise ExceptionGroup(f"{len(errors)} of {len(cases)} cases failed: {failed}", errors)
    if cases and len(skipped) == len(cases):
        pytest.skip(skipped[0])


def _generators(test):
    return [value for value in inspect.unwrap(test).__globals__.values() if isinstance(value, np.random.Generator)]


def _from_the_same_numbers(generators, test, *args, **options):
    for generator, state in generators:
        generator.bit_generator.state = state
    return test(*args, **options)


def _short(chosen):
    return ", ".join(f"{name}={str(value)[:60]}" for name, value in itertools.islice(chosen.items(), 6))


def pairwise(*factors):
    """Some of the product of several lists, such that every two values of different lists meet in one of them."""
    rows, met = [], set()
    places = list(itertools.combinations(range(len(factors)), 2))
    for least in range(len(places), 0, -1):
        for row in itertools.product(*(range(len(values)) for values in factors)):
            pairs = {(i, row[i], j, row[j]) for i, j in places} - met
            if len(pairs) >= least:
                met |= pairs
                rows.append(tuple(values[place] for values, place in zip(factors, row, strict=True)))
    return rows
