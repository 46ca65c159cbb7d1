"""The work of ``fit`` and ``demo``: fit a table, print and write the results."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from slabfield.cli.printing import show_edges, show_text, show_warnings, summarize
from slabfield.cli.result_files import PictureOptions, source_text, write_results, written_at
from slabfield.encoding import CodedTable
from slabfield.io.atomic import make_folder
from slabfield.validation import InputError, InputWarning
from slabfield.validation.errors import listed

if TYPE_CHECKING:
    import pandas as pd


class FitRequest(NamedTuple):
    """Parameters of the estimator that the command line sets, under the estimator's names."""

    likelihood: str = "auto"
    preset: str = "default"
    n_chains: int = 4
    n_draws: int | str = "auto"
    time_budget: float | None = None
    n_warmup: int | None = None
    tolerance: float = 0.02
    binarize: Any = None
    na: str = "error"
    na_values: Any = None
    levels: dict[str, list[float | str]] | None = None
    kinds: dict[str, Any] | None = None
    scores: str = "standard"
    random_state: int | None = None
    n_jobs: int | None = None
    forbid: Sequence[tuple[str, str]] = ()
    require: Sequence[tuple[str, str]] = ()
    inclusion_prior: Any = (5, 5)
    slab_prior: Any = (5, 5)
    communities: dict[str, str] | None = None
    within: float | None = None
    between: float | None = None
    max_memory: str | None = None

    def count_fixed_edges(self) -> tuple[int, int]:
        """Return the numbers of forbidden and of required edges."""
        return len(set(map(frozenset, self.forbid))), len(set(map(frozenset, self.require)))


def run(
    table: pd.DataFrame | CodedTable,
    request: FitRequest,
    out: Path,
    quiet: bool,
    cluster: str | None = None,
    pictures: PictureOptions = PictureOptions(),  # noqa: B008
    file: str = "",
) -> bool:
    """Fit a table, print and write the results, and return whether the chains converged.

    Parameters
    ----------
    table : DataFrame or CodedTable
        One row per case, one column per node.
    quiet : bool
        Whether to print only warnings.
    cluster : str, optional
        Address of a Dask scheduler whose workers run the chains.
    pictures : PictureOptions
        Which edges are drawn, and how pictures are written.
    file : str
        The table's file, for the report.

    Returns
    -------
    bool
        Whether the chains converged.
    """
    from slabfield import SpikeSlabMRF
    from slabfield.estimators.run_files import CHECKPOINT

    make_folder(out)
    if not quiet:
        announce_replacement(out)
    discard_ended_checkpoint(out)
    estimator = SpikeSlabMRF(**request._asdict(), progress=not quiet)
    estimator._file = file
    with resume_hint(out):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InputWarning)
            estimator.fit(table, checkpoint=out / CHECKPOINT, cluster=cluster)
        return finish(estimator, caught, request.count_fixed_edges(), out, quiet, pictures)


@contextmanager
def resume_hint(out: Path) -> Iterator[None]:
    """On an interrupt, say what is kept, and how to continue the run from its checkpoint."""
    from slabfield.chains.checkpoint import HEADER
    from slabfield.estimators.run_files import CHECKPOINT, InterruptedInWarmUp

    try:
        yield
    except KeyboardInterrupt as interrupt:
        if not (out / CHECKPOINT / HEADER).exists():
            raise
        kept = "the states saved so far are kept"
        if isinstance(interrupt, InterruptedInWarmUp):
            kept = interrupt.what
        raise KeyboardInterrupt(f"{kept}. To continue: {resume_command(out)}") from None


def resume_command(out: Path) -> str:
    """Return the command that resumes the run of an output folder."""
    return f"slabfield resume {shlex.quote(str(out))}"


def announce_replacement(out: Path) -> None:
    """Say that a folder holds results, which this run will replace."""
    from slabfield.posterior.storage import POSTERIOR_FILE

    earlier = out / POSTERIOR_FILE
    if earlier.exists():
        when = written_at(earlier)
        typer.echo(f"The results of {when:%Y-%m-%d %H:%M} in {out} will be replaced.", err=True)


def discard_ended_checkpoint(out: Path) -> None:
    """Delete the checkpoint of a run that has ended, whose results will be overwritten."""
    from slabfield.chains.checkpoint import Checkpoint
    from slabfield.estimators.run_files import CHECKPOINT

    checkpoint = Checkpoint(out / CHECKPOINT)
    if checkpoint.ended:
        checkpoint.discard()


def finish(
    estimator: Any,
    caught: list[warnings.WarningMessage],
    n_fixed: tuple[int, int],
    out: Path,
    quiet: bool,
    pictures: PictureOptions,
) -> bool:
    """Print and write the results, and return whether the chains converged.

    Parameters
    ----------
    n_fixed : (int, int)
        Numbers of forbidden and of required edges.
    out, quiet, pictures
        As for :func:`run`.

    Returns
    -------
    bool
        Whether the chains were not interrupted, and converged.
    """
    posterior = estimator.posterior_
    edges = posterior.to_dataframe()
    try:
        source = source_text(posterior, datetime.now())
        written = write_results(posterior, edges, out, pictures, source)
    except OSError as error:
        raise InputError(
            "results-not-written",
            "The results must be written in {folder}; found {error}. Free disk space, then run: "
            "{command} (draws that were written to disk are kept).",
            folder=out,
            error=str(error.strerror or error),
            command=resume_command(out),
        ) from None
    if not quiet:
        for note in estimator.coding_notes_:
            show_text(note)
        show_edges(edges)
        show_text(summarize(posterior, edges, resume_command(out), n_fixed))
        show_text(f"Written in {out}: {listed(written, shown=len(written))}.")
    interrupted = posterior.settings.get("stopped_by") == "interrupt"
    show_warnings(caught, posterior)
    if interrupted:
        typer.echo(f"Interrupted. To continue: {resume_command(out)}", err=True)
    return bool(posterior.converged) and not interrupted
