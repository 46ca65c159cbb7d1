"""``slabfield resume``: going on with a run that was interrupted, or that was too short."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slabfield.cli import options
from slabfield.cli.failures import NOT_CONVERGED, plain_failures

Folder = Annotated[Path, typer.Argument(show_default=False, help="What a run was given as --out.")]
More = Annotated[
    int | None,
    typer.Option(
        min=1, rich_help_panel=options.RUN, help="More draws of each chain than there were to be."
    ),
]


def resume(
    folder: Folder,
    draws: More = None,
    jobs: options.Jobs = None,
    cluster: options.Cluster = None,
    quiet: options.Quiet = False,
) -> None:
    """Go on with the run in FOLDER that was interrupted, or was too short.

    The result is that of a run that was never interrupted, and is written in FOLDER.
    """
    with plain_failures(quiet=quiet):
        converged = resume_run(folder, draws, jobs, quiet, cluster)
    if not converged:
        raise typer.Exit(NOT_CONVERGED)


def resume_run(
    folder: Path, draws: int | None, jobs: int | None, quiet: bool, cluster: str | None = None
) -> bool:
    """Go on with the run of a folder, print and write what was found; whether it converged."""
    import warnings

    from slabfield import SpikeSlabMRF
    from slabfield.checks import InputError, InputWarning
    from slabfield.cli.run import CHECKPOINT, Settings, finish, how_to_go_on
    from slabfield.files import make_folder

    if not (folder / CHECKPOINT).is_dir():
        raise InputError(
            f"The folder to go on in must be one that a run was given as --out; {folder} holds no "
            f"folder named {CHECKPOINT!r}. Name another folder."
        )
    make_folder(folder)
    with how_to_go_on(folder):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InputWarning)
            estimator = SpikeSlabMRF.resume(
                folder / CHECKPOINT, n_draws=draws, cluster=cluster, n_jobs=jobs,
                progress=not quiet,
            )  # fmt: skip
        known = Settings(forbid=estimator.forbid or (), require=estimator.require or ())
        return finish(estimator, caught, known.told(), folder, quiet)
