"""What the models of kept files give in fresh processes; `test_versions` compares it with what they gave.

    PYTHONPATH=src:tests python tests/saving/try_fresh.py release-0.2.0

Of kernelweave only `load` is imported. Each file is loaded in a process of its own, a fork of this one, so that no file
finds what another one has imported. Each writes a line of JSON: the kind of model, what it gives for new samples, and
which modules the load has imported.
"""

import json
import os
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import saved_files
from kernelweave import load


def main(version):
    expected = saved_files.expected_of(version)
    before = set(sys.modules)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, told in expected["models"].items():
            sys.stdout.flush()
            child = os.fork()
            if child == 0:
                try:
                    tell(version, name, expected["samples"][told["samples"]], Path(folder) / "model", before)
                    sys.stdout.flush()
                except BaseException:
                    traceback.print_exc()
                    os._exit(1)
                os._exit(0)
            wrong += os.waitpid(child, 0)[1] != 0
    return wrong


def tell(version, name, samples, path, before):
    saved_files.unpack(version, name, path)
    model = load(path, callables_of(path, name))
    imported = sorted(set(sys.modules) - before)
    numbers = saved_files.numbers_of(model, saved_files.samples_from_json(samples))
    print(json.dumps({"name": name, "numbers": numbers, "imported": imported}))


def callables_of(path, name):
    """The functions that a file needs; to define them takes imports, which other files do without."""
    if not saved_files.document_of(path)["callables"]:
        return None
    from saved_models import callables_of

    return callables_of(name)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(1 if main(sys.argv[1]) else 0)
