"""Run example scripts without a screen and save their pictures.

``python tools/draw_examples.py FOLDER [SCRIPT ...]`` runs all scripts of ``examples/``, or the given ones, and writes
``FOLDER/<name>.png`` for each ``plot_<name>.py``. The pictures of README are drawn by

    python tools/draw_examples.py docs examples/*/plot_{cohort_from_files,gating_regions,projected_digits}.py --dpi 130
"""

from __future__ import annotations

import argparse
import runpy
import time
from pathlib import Path

from matplotlib import pyplot as plt
from PIL import Image

EXAMPLES = Path(__file__).parents[1] / "examples"


def draw(script: Path, folder: Path, dpi: int) -> Path:
    """Run one script and save its picture, which is the only figure that it leaves open; returns where."""
    plt.close("all")
    runpy.run_path(str(script), run_name="__main__")
    if len(plt.get_fignums()) != 1:
        raise ValueError(f"{script} must leave one figure open, not {len(plt.get_fignums())}")
    picture = folder / f"{script.stem.removeprefix('plot_')}.png"
    plt.gcf().savefig(picture, dpi=dpi)
    Image.open(picture).convert("RGB").quantize(256).save(picture, optimize=True)  # a third of the bytes
    plt.close("all")
    return picture


def main(arguments: list[str] | None = None) -> None:
    """Draw the scripts that are named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("scripts", type=Path, nargs="*", help="default: all")
    parser.add_argument("--dpi", type=int, default=100, help="default: 100, as the gallery shows them")
    given = parser.parse_args(arguments)
    plt.switch_backend("Agg")
    given.folder.mkdir(parents=True, exist_ok=True)
    for script in given.scripts or sorted(EXAMPLES.glob("*/plot_*.py")):
        start = time.process_time()
        picture = draw(script, given.folder, given.dpi)
        print(f"{picture}: {time.process_time() - start:.1f} s of processor time")


if __name__ == "__main__":
    main()
