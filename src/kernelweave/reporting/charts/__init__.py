"""Charts as SVG, each type in its module; every text in them is escaped."""

from __future__ import annotations

from ..blocks import Bars, Chart, Dots, Heatmap, Lines, Scatter
from ..detail import Detail
from .bars import draw_bars
from .dots import draw_dots
from .frame import Drawing
from .heatmap import draw_heatmap
from .lines import draw_lines
from .scatter import draw_scatter

__all__ = ["Drawing", "draw"]


def draw(chart: Chart, detail: Detail, name: str) -> Drawing:
    """A chart as SVG.

    Parameters
    ----------
    chart : Chart
    detail : Detail
    name : str
        Unique on the page, for the identifiers in the picture.
    """
    match chart:
        case Dots():
            return draw_dots(chart, detail, name)
        case Bars():
            return draw_bars(chart, detail, name)
        case Scatter():
            return draw_scatter(chart, detail, name)
        case Lines():
            return draw_lines(chart, detail, name)
        case Heatmap():
            return draw_heatmap(chart, detail, name)
    raise TypeError(f"there is no picture for {type(chart).__name__}")
