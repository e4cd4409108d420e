"""Choosing and comparing: what each view gives a model, and the papers' protocols, response surfaces and tests.

The thesis is M. Gönen's PhD thesis (Boğaziçi University, 2010)."""

from .nested_folds import NestedFolds
from .paired_losses import paired_loss_test
from .protocol import (
    KFoldProtocol,
    Protocol,
    RepeatedDraws,
    RepeatedHalves,
    RepeatedKFoldProtocol,
    Split,
    SubjectProtocol,
    ThesisProtocol,
)
from .quadratic_surface import ResponseSurface, fit_surface, koshal_design
from .statistics import (
    TestResult,
    WilcoxonResult,
    WinTieLoss,
    corrected_t_test,
    paired_f_test_5x2cv,
    paired_t_test,
    wilcoxon_signed_rank,
    win_tie_loss,
)
from .surface_search_cv import ResponseSurfaceSearchCV
from .view_comparison import view_report
from .view_permutation import view_importance

__all__ = [
    "KFoldProtocol",
    "NestedFolds",
    "Protocol",
    "RepeatedDraws",
    "RepeatedHalves",
    "RepeatedKFoldProtocol",
    "ResponseSurface",
    "ResponseSurfaceSearchCV",
    "Split",
    "SubjectProtocol",
    "TestResult",
    "ThesisProtocol",
    "WilcoxonResult",
    "WinTieLoss",
    "corrected_t_test",
    "fit_surface",
    "koshal_design",
    "paired_f_test_5x2cv",
    "paired_loss_test",
    "paired_t_test",
    "view_importance",
    "view_report",
    "wilcoxon_signed_rank",
    "win_tie_loss",
]
