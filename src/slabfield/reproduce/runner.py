"""Run the experiments of one figure, or of all figures and the results page."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from slabfield.chains.dask_client import open_client
from slabfield.datasets import load_mnist_patches
from slabfield.reproduce import FIGURES
from slabfield.reproduce.results_page import write_page
from slabfield.reproduce.scale import SCALES
from slabfield.reproduce.workbench import Workbench
from slabfield.validation import InputError, check_choice

ON_IMAGES = ("10", "11")


def reproduce(
    figure: str,
    scale: str = "quick",
    out: Path | None = None,
    n_jobs: int = -1,
    quiet: bool = False,
    cluster: str | None = None,
) -> None:
    """Reproduce a figure of the paper; ``all`` makes all of them and a page of claims.

    Parameters
    ----------
    figure : str
        "1" to "11", "sizes", "sensitivity" or "all".
    scale : {"quick", "paper", "tiny"}
        Size of the experiments.
    out : Path, optional
        Output folder, "slabfield-reproduction" by default.
    n_jobs : int
        Pieces of work run in parallel; -1: all cores.
    quiet : bool
        Whether to print nothing.
    cluster : str, optional
        Address of a Dask scheduler, whose workers run the pieces.
    """
    check_choice("figure", figure, (*FIGURES, "all"))
    if scale not in SCALES:
        check_choice("scale", scale, ("quick", "paper"))  # "tiny" is for tests
    with open_client(cluster) as client:
        folder = out or Path("slabfield-reproduction")
        bench = Workbench(SCALES[scale], folder, n_jobs, quiet, client)
        _make(figure, bench)


def _make(figure: str, bench: Workbench) -> None:
    for name in FIGURES if figure == "all" else (figure,):
        if name in ON_IMAGES:
            missing = _missing_images()
            if missing and figure != "all":
                raise InputError("images-missing", "{reason}", reason=missing)
            if missing:
                bench.say(f"Figure {name} is skipped. {missing}")
                continue
        import_module(f"slabfield.reproduce.{FIGURES[name]}").make(bench)
        written = sorted(path.name for path in bench.out.glob(f"{FIGURES[name]}*.*"))
        bench.say(f"Written in {bench.out}: {', '.join(written)}.")
    if figure == "all":
        bench.say(f"Written: {write_page(bench.out, bench.scale)}.")


def _missing_images() -> str:
    """Return the error message of loading the images; empty if they can be loaded."""
    try:
        load_mnist_patches(1, random_state=0)
    except (FileNotFoundError, ValueError) as error:
        return str(error)
    return ""
