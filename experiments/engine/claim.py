"""What a paper concludes from a table, declared such that the table's own numbers decide whether it holds here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass


@dataclass(frozen=True)
class Claim:
    """The conclusion of a table, the row that carries it, and why it is not reached, where that is so.

    Attributes
    ----------
    words : str
        The conclusion, in a few words.
    row : str
        The method that carries it.
    ahead_of : tuple of str
        Methods with a worse mean score than `row`, if the conclusion holds.
    no_worse_than : tuple of str
        Methods than which `row` is worse by no more than its own standard deviation.
    sparser_than, cheaper_than : tuple of str
        Methods that store more support vectors, or whose predictions cost more.
    simpler : tuple of str
        Methods that are simpler than `row`; the digest names those that are better all the same.
    own : str or None
        The library's own form of `row`.
    reason : str
        Why a figure of the paper is not reached, or the conclusion does not hold, in a few words; shown only where that
        is so.
    details : str
        The same in sentences.
    remark : str
        What to bear in mind in any case, in a few words.

    Examples
    --------
    >>> from kernelweave.experiments import Claim
    >>> claim = Claim("More accurate than MKL", "LMKL (sigmoid)", ahead_of=("MKL",), simpler=("MKL",))
    >>> claim.check("5.16", ["MKL", "LMKL (softmax)"])
    Traceback (most recent call last):
    ...
    ValueError: the claim of '5.16' names methods that are not there: ['LMKL (sigmoid)']
    """

    words: str
    row: str
    _: KW_ONLY
    ahead_of: tuple[str, ...] = ()
    no_worse_than: tuple[str, ...] = ()
    sparser_than: tuple[str, ...] = ()
    cheaper_than: tuple[str, ...] = ()
    simpler: tuple[str, ...] = ()
    own: str | None = None
    reason: str = ""
    details: str = ""
    remark: str = ""

    def check(self, table: str, methods: Iterable[str]) -> None:
        """Raise ValueError where a method that the claim names is no method of the table.

        Parameters
        ----------
        table : str
            Name of the experiment.
        methods : iterable of str
            Those of the experiment.
        """
        named = {self.row, *self.ahead_of, *self.no_worse_than, *self.sparser_than, *self.cheaper_than, *self.simpler}
        unknown = (named | ({self.own} if self.own else set())) - set(methods)
        if unknown:
            raise ValueError(f"the claim of {table!r} names methods that are not there: {sorted(unknown)}")
