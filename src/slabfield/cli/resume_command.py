"""``slabfield resume``: continue a run that was interrupted or too short."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slabfield.cli import options
from slabfield.cli.error_handling import NOT_CONVERGED, handle_errors

if TYPE_CHECKING:
    from slabfield.cli.result_files import PictureOptions
    from slabfield.posterior import Posterior

# The result file that is written last
LAST_RESULT = "report.html"

Folder = Annotated[
    Path,
    typer.Argument(metavar="FOLDER", show_default=False, help="The --out folder of a run."),
]
More = Annotated[
    str | None,
    typer.Option(
        metavar="N|auto",
        show_default=False,
        rich_help_panel=options.RUN,
        help="Further draws per chain; auto goes on until convergence. By default a run that was "
        "stopped goes on to its end, and a complete one until convergence.",
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        rich_help_panel=options.RUN,
        help="Stop again after SECONDS of warm-up and sampling.",
    ),
]


def resume(
    folder: Folder,
    draws: More = None,
    time_budget: Budget = None,
    jobs: options.Jobs = None,
    cluster: options.Cluster = None,
    threshold: options.Threshold = None,
    formats: options.Formats = "png",
    dpi: options.Dpi = 150,
    quiet: options.Quiet = False,
) -> None:
    """Continue the run in FOLDER: one that was stopped, killed or out of time, or too short.

    The result is identical to that of an uninterrupted run, and is written to FOLDER.
    """
    with handle_errors(quiet=quiet, options={"checkpoint": "FOLDER"}):
        from slabfield.cli.option_values import parse_draws
        from slabfield.cli.result_files import read_picture_options

        more = None if draws is None else parse_draws(draws)
        pictures = read_picture_options(threshold, formats, dpi)
        converged = resume_run(folder, more, time_budget, jobs, quiet, cluster, pictures)
    if not converged:
        raise typer.Exit(NOT_CONVERGED)


def resume_run(
    folder: Path,
    draws: int | str | None,
    time_budget: float | None,
    jobs: int | None,
    quiet: bool,
    cluster: str | None,
    pictures: PictureOptions,
) -> bool:
    """Continue the run of a folder, print and write the results; return whether it converged."""
    import warnings

    from slabfield import SpikeSlabMRF
    from slabfield.cli.fit_run import FitRequest, finish, resume_hint
    from slabfield.estimators.run_files import CHECKPOINT
    from slabfield.io.atomic import make_folder
    from slabfield.validation import InputError, InputWarning

    if not (folder / CHECKPOINT).is_dir():
        raise InputError(
            "no-checkpoint",
            "FOLDER must be the --out folder of a run; {folder} holds no folder named "
            "{checkpoint!r}. Name another folder.",
            folder=folder,
            checkpoint=CHECKPOINT,
        )
    make_folder(folder, "folder")
    with resume_hint(folder):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InputWarning)
            estimator = SpikeSlabMRF.from_checkpoint(folder)
            before = getattr(estimator, "posterior_", None)
            estimator.set_params(n_jobs=jobs, progress=not quiet)
            estimator.resume(draws, time_budget, cluster)
        if estimator.posterior_ is before and results_are_current(folder):
            return report_nothing_added(estimator.posterior_, folder, quiet)
        request = FitRequest(forbid=estimator.forbid or (), require=estimator.require or ())
        return finish(estimator, caught, request.count_fixed_edges(), folder, quiet, pictures)


def results_are_current(folder: Path) -> bool:
    """Whether the results in an output folder were written after the last draws."""
    from slabfield.chains.checkpoint import Checkpoint
    from slabfield.estimators.run_files import CHECKPOINT

    last = folder / LAST_RESULT
    states = Checkpoint(folder / CHECKPOINT).chain_files()
    return last.exists() and all(path.stat().st_mtime <= last.stat().st_mtime for path in states)


def report_nothing_added(posterior: Posterior, folder: Path, quiet: bool) -> bool:
    """Print that a run is complete and has enough draws; return whether it converged."""
    from slabfield.cli.fit_run import resume_command
    from slabfield.cli.printing import show_text, show_warnings

    if not quiet:
        show_text(
            f"Nothing to add: the run is complete, and {posterior.draws.n_draws:,} draws per chain "
            f"are enough: {posterior.convergence.worst}. For more draws: {resume_command(folder)} "
            "--draws N."
        )
    show_warnings((), posterior)
    return bool(posterior.converged)
