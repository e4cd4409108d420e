"""Save a small model of every kind, with what it gives for new samples, for the tests of later versions.

    PYTHONPATH=src:tests python tests/saving/make_files.py

Files go to ``tests/saving/files/release-N``, N being the version of the library. What is there is never written
again, since files of users are not either: run this before a release, which makes a folder of its own, or after adding
a kind of model to `saved_models`, which makes a file for that one.
"""

import gzip
import json
import tempfile
import warnings
from pathlib import Path

import saved_files
from kernelweave import __version__, load, save
from saved_models import MODELS, callables_of


def main():
    version = f"release-{__version__}"
    folder = saved_files.folder_of(version)
    folder.mkdir(parents=True, exist_ok=True)
    there = folder / "expected.json"
    expected = saved_files.expected_of(version) if there.exists() else {"samples": [], "models": {}}
    for name, fitted in MODELS.items():
        if name not in expected["models"]:
            expected["models"][name] = add(folder, name, *fitted(), expected["samples"])
    samples = ",\n".join(json.dumps(each) for each in expected["samples"])
    models = ",\n".join(f"{json.dumps(name)}: {json.dumps(each)}" for name, each in expected["models"].items())
    there.write_text(f'{{"samples": [\n{samples}\n],\n"models": {{\n{models}\n}}}}\n', encoding="utf-8")


def add(folder, name, model, new, samples):
    """Save a model and return what it gives; its samples are added to those that are there."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "model"
        save(model, path)
        (folder / saved_files.file_name(name)).write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        numbers = saved_files.numbers_of(load(path, callables_of(name)), new)
    told = json.loads(json.dumps(saved_files.samples_as_json(new)))
    texts = [json.dumps(each) for each in samples]
    if json.dumps(told) not in texts:
        samples.append(told)
        texts.append(json.dumps(told))
    return {"samples": texts.index(json.dumps(told)), "numbers": numbers}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
