"""What the models of kept files give in fresh processes; `test_versions` compares it with what they gave.

    PYTHONPATH=src:tests python tests/saving/try_fresh.py release-0.2.0 FOLDER

Of kernelweave only `load` is imported. Each file is loaded in a process of its own, a fork of this one, so that no file
finds what another one has imported. Each writes a line of JSON: the kind of model, what it gives for new samples, and
which modules the load has imported. In the folder each file is there as it was and, with `-again`, saved again.
"""

import gc
import json
import os
import sys
import traceback
import warnings
from pathlib import Path

import saved_files
from kernelweave import load, save


def main(version, folder):
    expected = saved_files.expected_of(version)
    before = set(sys.modules)
    wrong = 0
    gc.freeze()  # so that forks share this process's memory
    for name, told in expected["models"].items():
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            try:
                path = Path(folder) / saved_files.file_name(name)
                tell(version, name, expected["samples"][told["samples"]], path, before)
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
    save(model, f"{path}-again")
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
    sys.exit(1 if main(*sys.argv[1:]) else 0)
