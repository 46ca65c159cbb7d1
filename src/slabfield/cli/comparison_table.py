"""The work of ``slabfield compare``: split a table, fit all methods, print and write scores."""

from __future__ import annotations

import warnings
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from slabfield.cli.fit_run import FitRequest
from slabfield.cli.printing import show_text, show_warnings
from slabfield.encoding import code_table
from slabfield.io.atomic import make_folder, write_atomically
from slabfield.validation import InputWarning

if TYPE_CHECKING:
    import pandas as pd

    from slabfield.reproduce.comparison import Score


def run_comparison(
    table: pd.DataFrame,
    request: FitRequest,
    held_out: float,
    out: Path,
    quiet: bool,
    cluster: str | None = None,
) -> bool:
    """Compare all methods on a table, and print and write their scores.

    Parameters
    ----------
    table : DataFrame
        One row per case, one column per node.
    request : FitRequest
        Parameters of slabfield's estimator; the seed and the number of jobs apply to all methods.
    held_out : float
        Share of the rows held out for testing.
    quiet : bool
        Whether to print only warnings.
    cluster : str, optional
        Address of a Dask scheduler whose workers run chains and folds.

    Returns
    -------
    bool
        Whether the chains of slabfield converged.
    """
    from slabfield.chains.dask_client import open_client
    from slabfield.reproduce import comparison

    make_folder(out)
    with open_client(cluster) as client, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InputWarning)
        coded = code_table(
            table, request.binarize, request.na, na_values=request.na_values,
            levels=request.levels, kinds=request.kinds,
            scores=request.scores,
        )  # fmt: skip
        train, test = comparison.split_rows(len(coded.rows), held_out, request.random_state)
        params: dict[str, Any] = request._asdict()
        seed, n_jobs = params.pop("random_state"), params.pop("n_jobs")
        for coding in ("binarize", "na", "na_values", "levels", "kinds", "scores"):
            params.pop(coding)
        two_valued = all(variable.n_levels == 2 for variable in coded.variables)
        methods = comparison.estimators(seed, n_jobs, two_valued=two_valued, **params)
        # all methods get the variables of the whole table, so that codes mean the same in both
        known = coded._replace(rows=coded.rows[train], missing=coded.missing[train])
        scores = comparison.compare(
            methods, known, coded.rows[test], seed,
            lambda name: None if quiet else typer.echo(f"Fitting: {name}", err=True),
            client,
        )  # fmt: skip
    write_scores(scores, out)
    posterior = methods[comparison.SLABFIELD].posterior_
    if not quiet:
        for note in coded.notes:
            show_text(note)
        show_text(f"Trained on {len(train)} rows, tested on {len(test)} others.")
        Console().print(score_table(scores))
        show_text(f"Written: {out / 'compare.csv'} and {out / 'compare.png'}.")
    show_warnings(caught, posterior)
    return bool(posterior.converged)


def score_table(scores: list[Score]) -> Table:
    """Lay out scores as a table, the best likelihood first, methods without one last."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("Method", no_wrap=True)
    for heading in (
        "Conditional log-likelihood", "Pseudo log-likelihood", "Density", "CPU s"
    ):  # fmt: skip
        table.add_column(heading, justify="right")
    for score in sorted(scores, key=lambda score: (isnan(score.cll), -score.cll, -score.pll)):
        table.add_row(
            score.method,
            "" if isnan(score.cll) else f"{score.cll:.3f} +- {score.cll_error:.3f}",
            f"{score.pll:.3f}",
            f"{score.density:.3f}", "" if isnan(score.cpu_seconds) else f"{score.cpu_seconds:.2f}",
        )  # fmt: skip
    return table


def write_scores(scores: list[Score], out: Path) -> None:
    """Write ``compare.csv`` and ``compare.png``."""
    import pandas as pd
    from matplotlib.figure import Figure

    from slabfield.plots import comparison

    table = pd.DataFrame(scores)
    figure = comparison([score for score in scores if not isnan(score.cll)]).figure
    assert isinstance(figure, Figure)
    write_atomically(
        out / "compare.csv", lambda path: table.to_csv(path, index=False, float_format="%.6g")
    )
    write_atomically(out / "compare.png", lambda path: figure.savefig(path, dpi=150))
