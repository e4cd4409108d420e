"""What people would otherwise take, and late integration: models that `compare` sets beside kernel machines.

=================  ===================================================================================================
module             contents
=================  ===================================================================================================
`stacking`         `StackedViews`: one kernel machine for each view, and a regression on their decision values
`column_model`     `ColumnModel`: logistic or ridge regression, a random forest or gradient boosting on all columns
`design`           the table that these are fitted to, made of the columns of X
`linear`, `trees`  what is kept of a fitted model of scikit-learn: coefficients, or the nodes of trees
=================  ===================================================================================================
"""

from .column_model import ColumnModel
from .stacking import StackedViews

__all__ = ["ColumnModel", "StackedViews"]
