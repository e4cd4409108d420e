"""Load and predict with files whose whole numbers are extreme; `test_bounds` runs this in processes of its own.

    PYTHONPATH=src:tests python tests/saving/try_extremes.py once
    PYTHONPATH=src:tests python tests/saving/try_extremes.py all 0 2

``once`` takes each attribute that holds an array of whole numbers in one kind of model, ``all`` in every kind; two
numbers are a part of the kinds, and into how many parts they are cut. A wrong index may end the process, so each line
of the output says what is tried next; what goes wrong otherwise is written to the errors, and the status is 1 then.
With NUMBA_BOUNDSCHECK=1 compiled functions raise an error at a wrong index, where they would read or write otherwise.
"""

import signal
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import saved_files
from forging import SavedModel, extreme_integers, holders, try_out
from saved_models import MODELS, callables_of


def main(how, part=0, n_parts=1):
    """Try all files; returns how many of them went wrong."""
    wrong, known, told = 0, set(), {}
    with tempfile.TemporaryDirectory() as folder:
        forged = Path(folder) / "forged"
        for name in list(MODELS)[int(part) :: int(n_parts)]:
            version = saved_files.newest(name)
            if version not in told:
                told[version] = saved_files.expected_of(version)
            new = saved_files.samples_from_json(told[version]["samples"][told[version]["models"][name]["samples"]])
            file = SavedModel(saved_files.unpacked(version, name))
            for member, other, what in forgeries(file, known if how == "once" else set()):
                print(what := f"{name}: {what}", flush=True)
                file.written(forged, arrays={**file.arrays, member: other})
                try:
                    try_out(forged, callables_of(name), new, what)
                except AssertionError as error:
                    wrong += 1
                    print(error, file=sys.stderr)
    return wrong


def forgeries(file, known):
    """Changed arrays of attributes that are not known yet, one array of each: (member, array, what was changed)."""
    rng, members = np.random.default_rng(len(file.arrays)), {}
    for member, holder in holders(file.document["rows"]).items():
        array = file.arrays[member]
        if array.dtype.kind in "iu" and array.size:
            members.setdefault((".".join(holder), array.dtype.str), []).append(member)
    for attribute in [attribute for attribute in members if attribute not in known]:
        known.add(attribute)
        member = members[attribute][rng.integers(len(members[attribute]))]
        for what, other in extreme_integers(file.arrays[member], rng):
            yield member, other, f"{attribute[0]} with {what}"


def stop(number, frame):
    raise AssertionError("takes too long")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, stop)
    sys.exit(1 if main(*sys.argv[1:]) else 0)
