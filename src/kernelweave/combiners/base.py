"""The protocol of a combiner: a rule that makes one kernel of several, and how its parameters are found.

`Combiner.fit` is given the stack of base kernels, the machine and the targets, and returns a `CombinedKernel` with the
machine's optimum under it. There are three ways to write a combiner:

- choose one weight for each kernel, then solve the machine once: `weighted.ChosenWeights`, whose subclasses implement
  `choose`;
- define a family of kernels K_theta with a gradient, and let the common descent find theta:
  `descent.DescentCombiner`, whose subclasses implement `family`;
- anything else: implement `fit`, and return a combined kernel.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace

import numpy as np
from sklearn.base import BaseEstimator, clone

from ..kernels import Kernel, KernelStack
from ..machines import Machine
from .combined import CombinedKernel
from .named import entries_of

Progress = Callable[[int, int], None]
_FINENESS = 1000  # parts of a solve that progress is reported in


@dataclass(frozen=True)
class FitControl:
    """What every fit is given beside data.

    Attributes
    ----------
    rng : RandomState
        The source of all random numbers.
    tol : float
        Tolerance of the machine's last solve, and the relative progress or gap that ends learning.
    max_steps : int or None
        Most solver steps of one solve of the machine.
    progress : callable or None
        Called with the number of finished and of all units of work.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelweave.combiners import FitControl, Mean
    >>> from kernelweave.kernels import KernelStack, Linear
    >>> from kernelweave.machines import BinaryMachine
    >>> stack = KernelStack([Linear()]).fit([[1.0], [-1.0]])
    >>> kernel = Mean().fit(stack, BinaryMachine(np.array([1.0, -1.0]), 10.0), None, FitControl(tol=1e-6))
    >>> kernel.solution.converged
    True
    """

    rng: np.random.RandomState = field(default_factory=lambda: np.random.RandomState(0))
    tol: float = 1e-3
    _: KW_ONLY
    max_steps: int | None = None
    progress: Progress | None = None

    def report(self, done: int, total: int) -> None:
        """Report progress, if there is a callable for it."""
        if self.progress is not None:
            self.progress(done, total)

    def share_of(self, n_solves: int) -> Callable[[float], None]:
        """A callable that reports how much of several solves in a row is done, given the share of the present one.

        Shares grow from 0 to 1 in each solve; a smaller one than the last belongs to the next solve.

        Parameters
        ----------
        n_solves : int
        """
        finished, last = 0, 0.0

        def report(share: float) -> None:
            nonlocal finished, last
            finished += share < last
            last = share
            self.report(round(_FINENESS * (min(finished, n_solves - 1) + share)), _FINENESS * n_solves)

        return report

    def quiet(self, seed: int) -> FitControl:
        """The same for a part of the work: random numbers of its own, and no progress."""
        return replace(self, rng=np.random.RandomState(seed), progress=None)


class Combiner(ABC, BaseEstimator):
    """A rule that makes one kernel of several; its parameters follow scikit-learn's conventions.

    Attributes
    ----------
    offers : frozenset of str
        The methods of the estimator that its combined kernel supports: "gates", "region", "local_values", "project",
        "gating_space".
    reads_gram : bool
        Whether base Gram matrices are read; if not, it does not help to compute them beforehand.
    takes_parts : bool
        Whether `fit` takes a stack with ``storage="lazy"``, of which no Gram matrix is ever whole.
    why_dense : str or None
        Why it does not, as a sentence for an error message, which adds sizes and remedies; None where it does.
    why_exact : str or None
        Why `fit` does not take kernels with explicit features (``approximation=`` of an estimator), as a sentence for
        an error message, which adds remedies; None where it does.
    by_kernel : tuple of str
        Parameters that may have an entry for each kernel, by name or in order.
    """

    reads_gram = True
    by_kernel: tuple[str, ...] = ()

    @property
    def offers(self) -> frozenset[str]:
        """None by default."""
        return frozenset()

    @property
    def takes_parts(self) -> bool:
        """Whether there is no reason for whole Gram matrices."""
        return self.why_dense is None

    @property
    def why_dense(self) -> str | None:
        """By default a combiner reads whole Gram matrices."""
        return f"{type(self).__name__} reads whole Gram matrices"

    @property
    def why_exact(self) -> str | None:
        """By default a combiner reads whole Gram matrices, which kernels with explicit features do not have."""
        return f"{type(self).__name__} reads whole Gram matrices"

    def why_dense_with(self, kernels: Sequence[tuple[str, Kernel]]) -> str | None:
        """`why_dense` with these kernels, each given with its name; by default it does not depend on them."""
        return self.why_dense

    def largest_value(self, names: list[str], largest: np.ndarray) -> float:
        """A bound of the combined kernel's k(x, x), by which the precision of kernel values is chosen.

        Parameters
        ----------
        names : list of str
            The kernels.
        largest : ndarray of shape (n_kernels,)
            The largest k(x, x) of each; the largest of them is the bound by default, as where weights add up to 1.
        """
        return float(largest.max())

    @abstractmethod
    def fit(
        self, stack: KernelStack, machine: Machine, y: np.ndarray | None, control: FitControl | None = None
    ) -> CombinedKernel:
        """Find the kernel, and solve the machine under it.

        Parameters
        ----------
        stack : KernelStack
            The base kernels over the training samples; an `engines.stack.ExplicitStack` where they have explicit
            features, which a combiner is given only if its `why_exact` is None.
        machine : Machine
            The dual problem, with its targets and bounds; with explicit features an
            `engines.training.machine.ExplicitMachine`.
        y : ndarray or None
            The targets as the user gave them (encoded labels for classification); None with explicit features, where
            blocks of samples have them.
        control : FitControl, optional
        """

    def for_kernels(self, names: list[str], kept: list[str]) -> Combiner:
        """A copy for a model with some of the kernels: entries of the other kernels leave its parameters.

        Parameters
        ----------
        names : list of str
            All kernels, in order.
        kept : list of str
            The kernels that stay, in the same order.

        Examples
        --------
        >>> from kernelweave.combiners import GroupMKL
        >>> GroupMKL({"image": ["fac", "pix"], "shape": ["mor"]}).for_kernels(["fac", "pix", "mor"], ["pix", "mor"])
        GroupMKL(groups={'image': ['pix'], 'shape': ['mor']})
        """
        other = clone(self)
        for parameter, value in self.get_params(deep=False).items():
            if isinstance(value, Combiner):
                other.set_params(**{parameter: value.for_kernels(names, kept)})
            elif parameter in self.by_kernel:
                other.set_params(**{parameter: entries_of(value, names, kept)})
        return other
