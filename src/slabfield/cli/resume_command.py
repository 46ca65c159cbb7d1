"""``slabfield resume``: continue a run that was interrupted or too short."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slabfield.cli import options
from slabfield.cli.error_handling import NOT_CONVERGED, handle_errors

if TYPE_CHECKING:
    from slabfield.cli.result_files import PictureOptions

Folder = Annotated[Path, typer.Argument(show_default=False, help="The --out folder of a run.")]
More = Annotated[
    int | None,
    typer.Option(
        min=1, rich_help_panel=options.RUN, help="Additional draws per chain, beyond those planned."
    ),
]


def resume(
    folder: Folder,
    draws: More = None,
    jobs: options.Jobs = None,
    cluster: options.Cluster = None,
    threshold: options.Threshold = None,
    formats: options.Formats = "png",
    dpi: options.Dpi = 150,
    quiet: options.Quiet = False,
) -> None:
    """Continue the run in FOLDER that was interrupted or too short.

    The result is identical to that of an uninterrupted run, and is written to FOLDER.
    """
    with handle_errors(quiet=quiet, options={"checkpoint": "FOLDER"}):
        from slabfield.cli.result_files import read_picture_options

        pictures = read_picture_options(threshold, formats, dpi)
        converged = resume_run(folder, draws, jobs, quiet, cluster, pictures)
    if not converged:
        raise typer.Exit(NOT_CONVERGED)


def resume_run(
    folder: Path,
    draws: int | None,
    jobs: int | None,
    quiet: bool,
    cluster: str | None,
    pictures: PictureOptions,
) -> bool:
    """Continue the run of a folder, print and write the results; return whether it converged."""
    import warnings

    from slabfield import SpikeSlabMRF
    from slabfield.cli.fit_run import CHECKPOINT, FitRequest, finish, resume_hint
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
            estimator = SpikeSlabMRF.resume(
                folder / CHECKPOINT, n_draws=draws, cluster=cluster, n_jobs=jobs,
                progress=not quiet,
            )  # fmt: skip
        request = FitRequest(forbid=estimator.forbid or (), require=estimator.require or ())
        return finish(estimator, caught, request.count_fixed_edges(), folder, quiet, pictures)
