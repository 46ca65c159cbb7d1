"""What ``fit`` and ``demo`` do with a table: fit, show, write."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from slabfield.checks import InputWarning
from slabfield.checks.errors import listed
from slabfield.cli.show import as_options, show_edges, show_text, summarise
from slabfield.cli.write import write_results
from slabfield.files import make_folder

if TYPE_CHECKING:
    import pandas as pd


class Settings(NamedTuple):
    """What the estimator is given; the names are its own."""

    likelihood: str = "auto"
    preset: str = "default"
    n_chains: int = 4
    n_draws: int | str | None = None
    time_budget: float | None = None
    n_warmup: int | None = None
    binarize: float | dict[str, float] | None = None
    random_state: int | None = None
    n_jobs: int | None = None
    forbid: Sequence[tuple[str, str]] = ()
    require: Sequence[tuple[str, str]] = ()

    def told(self) -> tuple[int, int]:
        """Return how many edges are forbidden and required."""
        return len(set(map(frozenset, self.forbid))), len(set(map(frozenset, self.require)))


def run(table: pd.DataFrame, settings: Settings, out: Path, quiet: bool) -> bool:
    """Fit a table, print what was found, write it, and say whether the chains converged.

    Parameters
    ----------
    table : DataFrame
        One row a case, one two-valued column a node.
    settings : Settings
        What the estimator is given.
    out : Path
        The folder to write in.
    quiet : bool
        Whether to print warnings only.

    Returns
    -------
    bool
        Whether the chains converged.

    Examples
    --------
    >>> from slabfield.cli.run import Settings
    >>> Settings(n_chains=2).n_chains
    2
    """
    from slabfield import SpikeSlabMRF

    make_folder(out)
    estimator = SpikeSlabMRF(**settings._asdict(), progress=not quiet)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InputWarning)
        estimator.fit(table)
    posterior = estimator.posterior_
    edges = posterior.to_dataframe()
    written = write_results(posterior, edges, out)
    if not quiet:
        for note in estimator.coding_notes_:
            show_text(note)
        show_edges(edges)
        show_text(summarise(edges, posterior.converged, posterior.settings, settings.told()))
        show_text(f"Written in {out}: {listed(written)}.")
    told = [str(w.message) for w in caught if issubclass(w.category, InputWarning)]
    for text in dict.fromkeys([*told, *posterior.warnings]):
        typer.echo(f"Warning: {as_options(text)}", err=True)
    return bool(posterior.converged)
