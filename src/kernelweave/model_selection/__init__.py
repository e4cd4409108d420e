"""The papers' way of choosing and comparing methods: protocols of splits and statistical tests."""

from .protocol import (
    KFoldProtocol,
    Protocol,
    RepeatedHalves,
    RepeatedKFoldProtocol,
    Split,
    SubjectProtocol,
    ThesisProtocol,
)
from .statistics import (
    TestResult,
    WilcoxonResult,
    WinTieLoss,
    paired_f_test_5x2cv,
    paired_t_test,
    wilcoxon_signed_rank,
    win_tie_loss,
)

__all__ = [
    "KFoldProtocol",
    "Protocol",
    "RepeatedHalves",
    "RepeatedKFoldProtocol",
    "Split",
    "SubjectProtocol",
    "TestResult",
    "ThesisProtocol",
    "WilcoxonResult",
    "WinTieLoss",
    "paired_f_test_5x2cv",
    "paired_t_test",
    "wilcoxon_signed_rank",
    "win_tie_loss",
]
