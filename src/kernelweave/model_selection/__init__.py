"""Choosing and comparing: what each view gives a model, and the papers' protocols, response surfaces and tests.

The thesis is M. Gönen's PhD thesis (Boğaziçi University, 2010)."""

from .protocols import (
    KFoldProtocol,
    NestedFolds,
    Protocol,
    RepeatedDraws,
    RepeatedHalves,
    RepeatedKFoldProtocol,
    Split,
    SubjectProtocol,
    ThesisProtocol,
)
from .response_surfaces import ResponseSurface, ResponseSurfaceSearchCV, fit_surface, koshal_design
from .statistics import (
    LossTestResult,
    TestResult,
    WilcoxonResult,
    WinTieLoss,
    corrected_t_test,
    paired_f_test_5x2cv,
    paired_loss_test,
    paired_t_test,
    wilcoxon_signed_rank,
    win_tie_loss,
)
from .view_comparison import view_report
from .view_permutation import view_importance

__all__ = [
    "KFoldProtocol",
    "LossTestResult",
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
