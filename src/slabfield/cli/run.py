"""What ``fit`` and ``demo`` do with a table: fit, show, write."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from slabfield.checks import CodedTable, InputError, InputWarning
from slabfield.checks.errors import listed
from slabfield.cli.show import as_options, show_edges, show_text, summarise
from slabfield.cli.write import write_results
from slabfield.files import make_folder

if TYPE_CHECKING:
    import pandas as pd


CHECKPOINT = "checkpoint"
"""The folder, within that of the results, that chains write their states to."""


class Settings(NamedTuple):
    """What the estimator is given; the names are its own."""

    likelihood: str = "auto"
    preset: str = "default"
    n_chains: int = 4
    n_draws: int | str | None = None
    time_budget: float | None = None
    n_warmup: int | None = None
    binarize: float | dict[str, float] | None = None
    na: str = "error"
    random_state: int | None = None
    n_jobs: int | None = None
    forbid: Sequence[tuple[str, str]] = ()
    require: Sequence[tuple[str, str]] = ()
    inclusion_prior: Any = (5, 5)
    groups: dict[str, str] | None = None
    within: float | None = None
    between: float | None = None
    max_memory: str | None = None

    def told(self) -> tuple[int, int]:
        """Return how many edges are forbidden and required."""
        return len(set(map(frozenset, self.forbid))), len(set(map(frozenset, self.require)))


def run(
    table: pd.DataFrame | CodedTable,
    settings: Settings,
    out: Path,
    quiet: bool,
    cluster: str | None = None,
) -> bool:
    """Fit a table, print what was found, write it, and say whether the chains converged.

    Parameters
    ----------
    table : DataFrame or CodedTable
        One row a case, one two-valued column a node.
    settings : Settings
        What the estimator is given.
    out : Path
        The folder to write in.
    quiet : bool
        Whether to print warnings only.
    cluster : str, optional
        The address of a Dask scheduler, whose workers run the chains.

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
    begin_anew(out)
    estimator = SpikeSlabMRF(**settings._asdict(), progress=not quiet)
    with how_to_go_on(out):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InputWarning)
            estimator.fit(table, checkpoint=out / CHECKPOINT, cluster=cluster)
        return finish(estimator, caught, settings.told(), out, quiet)


@contextmanager
def how_to_go_on(out: Path) -> Iterator[None]:
    """Say what is left when the work is interrupted: the run, from its checkpoint."""
    try:
        yield
    except KeyboardInterrupt:
        if not (out / CHECKPOINT).is_dir():
            raise
        raise KeyboardInterrupt(f"to go on: slabfield resume {shlex.quote(str(out))}") from None


def begin_anew(out: Path) -> None:
    """Delete the checkpoint of a run that came to its end; its results are written over too."""
    from slabfield.sampler.checkpoint import Checkpoint

    checkpoint = Checkpoint(out / CHECKPOINT)
    if checkpoint.finished:
        checkpoint.discard()


def finish(
    estimator: Any,
    caught: list[warnings.WarningMessage],
    known: tuple[int, int],
    out: Path,
    quiet: bool,
) -> bool:
    """Print and write what was found, and say whether the chains converged.

    Parameters
    ----------
    estimator : SpikeSlabMRF
        Fitted.
    caught : list
        The warnings there were.
    known : (int, int)
        How many edges the user forbade and required.
    out, quiet
        As for :func:`run`.

    Returns
    -------
    bool
        Whether the chains came to their end, and converged.

    Examples
    --------
    >>> from slabfield.cli.run import finish
    >>> callable(finish)
    True
    """
    posterior = estimator.posterior_
    edges = posterior.to_dataframe()
    go_on = f"slabfield resume {shlex.quote(str(out))}"
    try:
        written = write_results(posterior, edges, out)
    except OSError as error:
        raise InputError(
            f"The results must be written in {out}; found {error.strerror or error}. Make room, "
            f"then: {go_on} (what was drawn is kept as far as it was written)."
        ) from None
    if not quiet:
        for note in estimator.coding_notes_:
            show_text(note)
        show_edges(edges)
        show_text(summarise(edges, posterior.converged, posterior.settings, known))
        show_text(f"Written in {out}: {listed(written, shown=len(written))}.")
    interrupted = posterior.settings.get("stopped_by") == "interrupt"
    told = [str(w.message) for w in caught if issubclass(w.category, InputWarning)]
    for text in dict.fromkeys([*told, *posterior.warnings]):
        typer.echo(f"Warning: {as_options(text)}", err=True)
    if interrupted:
        typer.echo(f"Interrupted. To go on: {go_on}", err=True)
    return bool(posterior.converged) and not interrupted
