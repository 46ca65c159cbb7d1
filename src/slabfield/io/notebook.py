"""Whether code runs in a notebook."""

from __future__ import annotations

import sys


def in_notebook() -> bool:
    """Whether an IPython kernel runs this code; a shell in a terminal has no kernel."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None
