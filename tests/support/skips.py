"""Reasons for which tests are skipped: what is not there, and what to do."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

NEEDS_DATA = pytest.mark.skipif(
    not os.environ.get("SLABFIELD_DATA"),
    reason="the real data do not come with slabfield: set SLABFIELD_DATA to the folder with them",
)
NEEDS_LINUX = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="there is no /proc here: run the tests on Linux"
)
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
NEEDS_BROWSER = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="no browser: install Chromium and its driver (Debian: apt-get install chromium "
    "chromium-driver)",
)
NO_R = (
    "R is not installed: install R and its package glmnet (Debian: apt-get install r-cran-glmnet)"
)
NO_GLMNET = "the R package glmnet is not installed: run install.packages('glmnet') in R"
NO_GCC = "gcc is not installed, which builds the sampler in C to compare with: install gcc"
NO_TERMINAL = "there are no pseudo-terminals here: run the tests on Linux or macOS"
NO_MOUNT = "a full disk cannot be simulated: run the tests as root, where mounting is allowed"
OTHER_SKLEARN = (
    "docs/sklearn.md was written with another version of scikit-learn: install that version, or "
    "write the page with python tests/estimators/test_sklearn_checks.py"
)


def require(package: str) -> Any:
    """Import an optional package, or skip the test or file."""
    return pytest.importorskip(
        package, reason=f"{package} is not installed: pip install 'slabfield[test]'"
    )
