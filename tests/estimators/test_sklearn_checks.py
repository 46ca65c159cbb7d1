"""scikit-learn's own checks of estimators, and the page with their results.

``python tests/estimators/test_sklearn_checks.py`` rewrites that page.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import SkipTest

import pytest

pytest.importorskip(  # older versions have no expected failures
    "sklearn",
    minversion="1.6",
    reason="scikit-learn is older than 1.6: pip install 'scikit-learn>=1.6'",
)

import sklearn
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from slabfield import SpikeSlabMRF
from slabfield.baselines import (
    ChowLiuTree,
    Independent,
    L1Multinomial,
    L1Neighborhood,
    L1PseudoLikelihood,
)

PAGE = Path(__file__).parents[2] / "docs" / "sklearn.md"

QUICK: dict[str, Any] = {
    "binarize": "median", "likelihood": "pseudo", "n_chains": 1, "n_draws": 5, "n_warmup": 2,
    "n_jobs": 1, "random_state": 0,
}  # fmt: skip
ESTIMATORS = [
    SpikeSlabMRF(**QUICK),
    L1Neighborhood(binarize="median", strength=0.1, n_jobs=1),
    L1PseudoLikelihood(binarize="median", strength=0.1, n_jobs=1),
    ChowLiuTree(binarize="median"),
    Independent(binarize="median"),
    L1Multinomial(binarize="median", strength=0.1),
]

NO_CLASSIFIER = (
    "treats any estimator with `predict_proba` as a classifier of one target and expects a column "
    "for each class; here `predict_proba` has a column for each node. Sparse tables are supported: "
    "`tests/estimators/test_estimators.py` fits and predicts with them"
)
FILLS_GAPS = (
    "expects `predict` to refuse missing entries, which here are what it predicts. `fit` refuses "
    "missing and infinite entries: `tests/test_bad_input.py`"
)
EXPECTED = {
    "check_estimators_nan_inf": FILLS_GAPS,
    "check_estimator_sparse_array": NO_CLASSIFIER,
    "check_estimator_sparse_matrix": NO_CLASSIFIER,
}


NOT_RUN = {"check_array_api_input": "needs the environment variable `SCIPY_ARRAY_API`"}


def expected_failures(estimator: BaseEstimator) -> dict[str, str]:
    """Return the checks of what only an estimator that predicts can fail."""
    return EXPECTED if hasattr(estimator, "predict_proba") else {}


@pytest.mark.filterwarnings("ignore::slabfield.validation.InputWarning")  # constant columns
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator: BaseEstimator, check: Any) -> None:
    try:
        check(estimator)
    except SkipTest as reason:
        pytest.skip(f"scikit-learn skips a check: {reason}; set SCIPY_ARRAY_API=1 to run it")


def names_of_checks(estimator: BaseEstimator) -> Iterator[str]:
    for _, check in estimator_checks_generator(estimator):
        while hasattr(check, "func"):
            check = check.func
        yield check.__name__


def page() -> str:
    """Return the page; a check that is not listed as an exception passes, or a test above fails."""
    rows, failed, skipped = [], set(), set()
    for estimator in ESTIMATORS:
        names = list(names_of_checks(estimator))
        failing = [name for name in names if name in expected_failures(estimator)]
        not_run = [name for name in names if name in NOT_RUN]
        failed |= set(failing)
        skipped |= set(not_run)
        n_passed = len(names) - len(failing) - len(not_run)
        cells = (f"`{type(estimator).__name__}`", n_passed, len(failing), len(not_run))
        rows.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    reasons = [f"| `{name}` | fails, as expected | {EXPECTED[name]} |" for name in sorted(failed)]
    reasons += [f"| `{name}` | not run | {NOT_RUN[name]} |" for name in sorted(skipped)]
    return HEAD.format(
        version=sklearn.__version__, rows="\n".join(rows), reasons="\n".join(reasons)
    )


HEAD = """\
# scikit-learn's checks of estimators

All estimators of slabfield go through `sklearn.utils.estimator_checks.parametrize_with_checks` in
`tests/estimators/test_sklearn_checks.py`, with `binarize="median"`, because the checks pass real
numbers where a binary model needs two values. That file writes this page and checks that it is up
to date: `python tests/estimators/test_sklearn_checks.py` rewrites it.

With scikit-learn {version}:

| estimator | pass | fail, as expected | not run |
|---|---|---|---|
{rows}

| check | status | why |
|---|---|---|
{reasons}
"""


def test_the_page_is_up_to_date() -> None:
    found = PAGE.read_text(encoding="utf-8")
    if f"With scikit-learn {sklearn.__version__}:" not in found:
        from skips import OTHER_SKLEARN

        pytest.skip(OTHER_SKLEARN)
    assert found == page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
