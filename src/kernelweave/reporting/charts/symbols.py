"""Signs of groups besides their colour: symbols of points, hatching of bars, dashes of lines.

There are seven colours (`style.css`), eight symbols, six hatchings and six kinds of dashes; the pairs of the first 56
groups (42 of bars and lines) differ.
"""

from __future__ import annotations

COLOURS = 7
_SYMBOLS = (
    "m-{r} 0a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0-{d} 0z",  # disc
    "m-{s}-{s}h{q}v{q}h-{q}z",  # square
    "m0-{t}l{t} {u}h-{v}z",  # triangle
    "m0-{t}l{t} {t}l-{t} {t}l-{t}-{t}z",  # diamond
    "m0 {t}l{t}-{u}h-{v}z",  # triangle on its tip
    "m-{b}-{t}h{w}v{e}h{e}v{w}h-{e}v{e}h-{w}v-{e}h-{e}v-{w}h{e}z",  # plus
    "m-{t}-{b}h{v}v{w}h-{v}z",  # lying bar
    "m-{b}-{t}h{w}v{v}h-{w}z",  # standing bar
)
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4", "5 2 1 2 1 2")
HATCHES = ("", "/", "-", "\\", "|", "x")


def colour(number: int) -> str:
    """The class of style.css that sets the colour of a group."""
    return f"c{number % COLOURS}"


def symbol(number: int, radius: float) -> str:
    """The path of a group's symbol, relative to its middle."""
    r = radius
    sizes = {"r": r, "d": 2 * r, "s": 0.9 * r, "q": 1.8 * r, "t": 1.2 * r, "u": 2.1 * r, "v": 2.4 * r}
    sizes |= {"b": 0.45 * r, "w": 0.9 * r, "e": 0.75 * r}
    return _SYMBOLS[number % len(_SYMBOLS)].format(**{name: f"{size:.3g}" for name, size in sizes.items()})


def dashes(number: int) -> str:
    """The pattern of a line's dashes; empty for a whole line."""
    return _DASHES[number % len(_DASHES)]


def hatching(number: int, x: float, y: float, width: float, height: float, gap: float = 6.0) -> str:
    """The path of the lines that hatch a rectangle, cut at its edges; empty where it has none."""
    style, lines = HATCHES[number % len(HATCHES)], []
    if width < 1:
        return ""
    if style == "-":
        lines = [(x, y + at, x + width, y + at) for at in _steps(height, gap)]
    if style == "|":
        lines = [(x + at, y, x + at, y + height) for at in _steps(width, gap)]
    if style in ("/", "x"):
        lines += [(x + a, y + b, x + c, y + d) for a, b, c, d in _diagonals(width, height, gap)]
    if style in ("\\", "x"):
        lines += [(x + width - a, y + b, x + width - c, y + d) for a, b, c, d in _diagonals(width, height, gap)]
    return "".join(f"M{a:.4g} {b:.4g}L{c:.4g} {d:.4g}" for a, b, c, d in lines)


def _steps(length: float, gap: float) -> list[float]:
    count = int(length / gap)
    return [gap * (place + 0.5) for place in range(count)] or [length / 2]


def _diagonals(width: float, height: float, gap: float) -> list[tuple[float, float, float, float]]:
    """Lines that rise to the right: x + y = constant, within a rectangle at (0, 0)."""
    lines, total = [], gap
    while total < width + height:
        lines.append((max(0.0, total - height), min(total, height), min(total, width), max(0.0, total - width)))
        total += gap
    return lines
