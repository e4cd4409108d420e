"""What `CohortModel` does by default: it chooses among a few methods and their settings by its own inner validation.

Its folds are its own, and the limit of seconds does not stop it: it counts as one setting. The column `setting` of the
results has the method that it chose, with its parameters.
"""

from kernelweave.compare import Problem
from kernelweave.recipes import CohortModel

NAME = "auto"
FAMILY = "kernelweave"


def candidates(problem: Problem) -> dict:
    """One setting: accuracy, which the benchmark counts, chooses the method."""
    return {"": CohortModel("auto", task="classification", scoring="accuracy", random_state=0)}
