import gzip
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty folder that is the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write(folder):
    """Write files into the folder: ``write(**{"a.csv": text})``; text is encoded as UTF-8, and gzipped for ``.gz``."""

    def write_files(files: dict) -> None:
        for name, content in files.items():
            content = content.encode() if isinstance(content, str) else content
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)

    return write_files
