"""Settings with which every cone program is given to Clarabel."""

from __future__ import annotations

import clarabel


def quiet_settings() -> clarabel.DefaultSettings:
    """Clarabel's default settings without its printing, and without its threads: a forked child would wait for them."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    return settings
