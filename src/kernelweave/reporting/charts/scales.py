"""From numbers to places on an axis, and the round numbers at which ticks stand."""

from __future__ import annotations

import math
from collections.abc import Iterable

_LARGEST = 1e290  # beyond it a range overflows; such numbers are drawn at the edge
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def finite(values: Iterable[float | None]) -> list[float]:
    """The numbers that can be drawn.

    >>> finite([1, None, float("nan")])
    [1.0]
    """
    return [min(max(float(v), -_LARGEST), _LARGEST) for v in values if v is not None and math.isfinite(v)]


def can_draw(value: float | None) -> bool:
    """Whether a value is a finite number."""
    return value is not None and math.isfinite(value)


class Scale:
    """A linear axis from a least to a largest number, with some room on both sides.

    Parameters
    ----------
    values : iterable of float
        All numbers to be drawn; those that are not finite are left out.
    start, end : float
        Places of the two ends.
    room : float
        Part of the range that is added on both sides.
    finest : float
        The least distance of ticks, such as 1 for counts.
    """

    def __init__(
        self, values: Iterable[float | None], start: float, end: float, *, room: float = 0.04, finest: float = 0.0
    ):
        numbers = finite(values) or [0.0, 1.0]
        low, high = min(numbers), max(numbers)
        if high - low <= 1e-9 * max(abs(low), abs(high)) or high - low < 1e-280:  # all the same
            around = abs(low) / 10 if abs(low) > 1e-280 else 1.0
            low, high = low - around, high + around
        else:
            low, high = low - room * (high - low), high + room * (high - low)
        self.low, self.high, self.start, self.end = low, high, start, end
        self.finest = finest

    def __call__(self, value: float) -> float:
        """The place of a number; of one beyond the axis, that of its end."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def step(self, most: int) -> float:
        """The distance of at most `most` + 1 ticks: 1, 2 or 5 times a power of ten."""
        rough = max((self.high - self.low) / max(most, 1), self.finest)
        power = 10.0 ** math.floor(math.log10(rough))
        return next((factor * power for factor in (1, 2, 5) if factor * power >= rough * (1 - 1e-9)), 10 * power)

    def ticks(self, most: int) -> list[float]:
        """Round numbers within the axis.

        >>> Scale([0, 4.5], 0, 100, room=0).ticks(5)
        [0.0, 1.0, 2.0, 3.0, 4.0]
        """
        step = self.step(most)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)] if last - first < 100 else [self.low, self.high]

    def label(self, value: float, most: int, kind: str = "number") -> str:
        """A tick's number with as many decimals as the distance of ticks needs.

        >>> Scale([0.9, 0.95], 0, 100).label(0.92, 5, "percent")
        '92 %'
        """
        factor = 100.0 if kind == "percent" else 1.0
        step, value = factor * self.step(most), factor * value
        unit = {"percent": " %", "seconds": " s"}.get(kind, "")
        size = max(abs(self.low), abs(self.high)) * factor
        if size >= 1e6 or step < 1e-5:
            return _with_power(value) + unit
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        text = f"{value:.{decimals}f}"
        return (text.removeprefix("-") if float(text) == 0 else text) + unit


class LogScale(Scale):
    """A logarithmic axis; numbers that are not positive are left out."""

    def __init__(self, values: Iterable[float | None], start: float, end: float, *, room: float = 0.04):
        logarithms = [math.log10(value) for value in finite(values) if value > 0]
        super().__init__(logarithms, start, end, room=room)
        if self.high - self.low < 1:  # at least one power of ten, so that there are ticks
            self.low, self.high = math.floor(self.low), math.ceil(self.high)

    def __call__(self, value: float) -> float:
        """The place of a positive number."""
        return super().__call__(math.log10(value))

    def ticks(self, most: int) -> list[float]:
        """Powers of ten within the axis."""
        first, last = math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9)
        apart = max(1, math.ceil((last - first) / max(most, 1)))
        return [10.0**power for power in range(first, last + 1, apart) if -300 < power < 300]

    def label(self, value: float, most: int, kind: str = "number") -> str:
        """A power of ten."""
        power = round(math.log10(value))
        return f"{value:g}" if -3 <= power <= 4 else f"10{str(power).translate(_SUPERSCRIPTS)}"


def _with_power(value: float) -> str:
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}×10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
