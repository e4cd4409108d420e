"""Print the lowest versions that pyproject.toml declares, as constraints for pip (``numpy>=1.26``: ``numpy==1.26``).

python tools/oldest.py > constraints.txt
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def oldest(requirements: list[str]) -> list[str]:
    """The constraint of each requirement, which has to be a name and a lower bound and nothing else.

    >>> oldest(["numpy>=1.26", "scikit-learn>=1.6"])
    ['numpy==1.26', 'scikit-learn==1.6']
    """
    constraints = []
    for requirement in requirements:
        parts = re.fullmatch(r"([\w.-]+)\s*>=\s*([\d.]+)", requirement)
        if parts is None:
            raise ValueError(f"{requirement!r} in pyproject.toml is not a name and a lower bound, such as numpy>=1.26")
        constraints.append(f"{parts[1]}=={parts[2]}")
    return constraints


if __name__ == "__main__":
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    extras = project["optional-dependencies"]
    print(*oldest([*project["dependencies"], *extras["plot"], *extras["test"]]), sep="\n")
