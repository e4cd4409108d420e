"""Draw docs/report.png: the embedded digits as six CSV files, `kernelweave compare --quick`, and a look at its report.

Needs the extra `dev` and Chromium: ``python tools/report_picture.py [FOLDER]``; the files and results stay in FOLDER.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
from playwright.sync_api import sync_playwright

from kernelweave.datasets import load_multifeat

PICTURE = Path(__file__).parents[1] / "docs" / "report.png"


def write_files(folder: Path) -> list[str]:
    """A CSV file for each view of the digits, and their labels; returns the names of the views' files."""
    digits = load_multifeat()
    samples = pd.Index([f"d{number:04d}" for number in range(len(digits.target))], name="sample")
    for view in digits.view_names:
        table = digits.data.filter(regex=f"^{view}__").set_axis(samples)
        table.rename(columns=lambda name: name.replace("__", "")).to_csv(folder / f"{view}.csv")
    pd.DataFrame({"digit": [f"digit {label}" for label in digits.target]}, samples).to_csv(folder / "labels.csv")
    return [f"{view}.csv" for view in digits.view_names]


def main(folder: Path) -> None:
    """Write the files, compare, and take the picture."""
    folder.mkdir(parents=True, exist_ok=True)
    words = ["compare", *write_files(folder), "--target", "labels.csv:digit", "--id", "sample", "--quick"]
    subprocess.run([sys.executable, "-m", "kernelweave", *words, "--out", "results"], cwd=folder, check=True)
    with sync_playwright() as playwright:
        path = os.environ.get("KERNELWEAVE_CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1180, "height": 1320})
        page.goto((folder / "results" / "report.html").absolute().as_uri())
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()))
