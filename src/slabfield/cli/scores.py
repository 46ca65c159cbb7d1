"""What ``slabfield compare`` does with a table: split, fit all methods, show, write."""

from __future__ import annotations

import warnings
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from slabfield.checks import InputWarning, code_binary
from slabfield.cli.run import Settings
from slabfield.cli.show import as_options, show_text
from slabfield.files import make_folder, write_atomically

if TYPE_CHECKING:
    import pandas as pd

    from slabfield.reproduce.comparison import Score


def run_comparison(
    table: pd.DataFrame,
    settings: Settings,
    held_out: float,
    out: Path,
    quiet: bool,
    cluster: str | None = None,
) -> bool:
    """Compare all methods on a table, print and write the result; return whether chains converged.

    Parameters
    ----------
    table : DataFrame
        One row a case, one two-valued column a node.
    settings : Settings
        What slabfield's estimator is given; seed and processes are shared by all methods.
    held_out : float
        Share of rows to test on.
    out : Path
        The folder to write in.
    quiet : bool
        Whether to print warnings only.
    cluster : str, optional
        The address of a Dask scheduler, whose workers run chains and folds.

    Returns
    -------
    bool
        Whether the chains of slabfield converged.

    Examples
    --------
    >>> from slabfield.cli.scores import run_comparison
    >>> callable(run_comparison)
    True
    """
    import pandas as pd

    from slabfield.reproduce import comparison
    from slabfield.sampler.connect import open_client

    make_folder(out)
    with open_client(cluster) as client, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InputWarning)
        coded = code_binary(table, settings.binarize)
        train, test = comparison.split_rows(len(coded.rows), held_out, settings.random_state)
        told: dict[str, Any] = settings._asdict()
        seed, n_jobs = told.pop("random_state"), told.pop("n_jobs")
        told.pop("binarize")
        methods = comparison.estimators(seed, n_jobs, **told)
        scores = comparison.compare(
            methods, pd.DataFrame(coded.rows[train], columns=coded.names), coded.rows[test], seed,
            lambda name: None if quiet else typer.echo(f"Fitting: {name}", err=True),
            client,
        )  # fmt: skip
    write_scores(scores, out)
    posterior = methods[comparison.SLABFIELD].posterior_
    if not quiet:
        for note in coded.notes:
            show_text(note)
        show_text(f"Learnt from {len(train)} rows, tested on {len(test)} others.")
        Console().print(score_table(scores))
        show_text(f"Written: {out / 'compare.csv'} and {out / 'compare.png'}.")
    heard = [str(w.message) for w in caught if issubclass(w.category, InputWarning)]
    for text in dict.fromkeys([*heard, *posterior.warnings]):
        typer.echo(f"Warning: {as_options(text)}", err=True)
    return bool(posterior.converged)


def score_table(scores: list[Score]) -> Table:
    """Lay scores out as a table, the best likelihood first.

    Examples
    --------
    >>> from slabfield.cli.scores import score_table
    >>> from slabfield.reproduce.comparison import Score
    >>> score_table([Score("slabfield", -3.0, 0.1, -4.0, 0.2, 1.5)]).row_count
    1
    """
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("Method", no_wrap=True)
    for heading in (
        "Conditional log-likelihood", "Pseudo log-likelihood", "Density", "CPU seconds"
    ):  # fmt: skip
        table.add_column(heading, justify="right")
    for score in sorted(scores, key=lambda score: -score.cll):
        table.add_row(
            score.method, f"{score.cll:.3f} +- {score.cll_error:.3f}", f"{score.pll:.3f}",
            f"{score.density:.3f}", "" if isnan(score.cpu_seconds) else f"{score.cpu_seconds:.2f}",
        )  # fmt: skip
    return table


def write_scores(scores: list[Score], out: Path) -> None:
    """Write ``compare.csv`` and ``compare.png``.

    Examples
    --------
    >>> from slabfield.cli.scores import write_scores
    >>> callable(write_scores)
    True
    """
    import pandas as pd
    from matplotlib.figure import Figure

    from slabfield.plots import comparison

    table = pd.DataFrame(scores)
    figure = comparison(scores).figure
    assert isinstance(figure, Figure)
    write_atomically(
        out / "compare.csv", lambda path: table.to_csv(path, index=False, float_format="%.6g")
    )
    write_atomically(out / "compare.png", lambda path: figure.savefig(path, dpi=150))
