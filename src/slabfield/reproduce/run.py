"""Make one figure, or all of them and the page."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from slabfield.checks import InputError, check_choice
from slabfield.datasets import load_mnist_patches
from slabfield.reproduce import FIGURES
from slabfield.reproduce.bench import Workbench
from slabfield.reproduce.page import write_page
from slabfield.reproduce.scale import SCALES
from slabfield.sampler.connect import open_client

ON_IMAGES = ("10", "11")


def reproduce(
    figure: str,
    scale: str = "quick",
    out: Path | None = None,
    n_jobs: int = -1,
    quiet: bool = False,
    cluster: str | None = None,
) -> None:
    """Make a figure of the paper anew; ``all`` makes all of them and a page of claims.

    Parameters
    ----------
    figure : str
        "1" to "11", "sizes", "sensitivity" or "all".
    scale : {"quick", "paper", "tiny"}
        How large the experiments are.
    out : Path, optional
        Folder to write in; "slabfield-reproduction" where it is left out.
    n_jobs : int
        Pieces of work done at a time; -1: all cores.
    quiet : bool
        Whether to print nothing.
    cluster : str, optional
        The address of a Dask scheduler, whose workers do the pieces.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from slabfield.reproduce.run import reproduce
    >>> with TemporaryDirectory() as folder:
    ...     reproduce("1", "tiny", Path(folder), n_jobs=1, quiet=True)
    ...     sorted(path.name for path in Path(folder).glob("*.*"))
    ['figure01.png', 'figure01.svg']
    """
    check_choice("FIGURE", figure, (*FIGURES, "all"))
    if scale not in SCALES:
        check_choice("--scale", scale, ("quick", "paper"))  # the third is for tests
    with open_client(cluster) as client:
        folder = out or Path("slabfield-reproduction")
        bench = Workbench(SCALES[scale], folder, n_jobs, quiet, client)
        _make(figure, bench)


def _make(figure: str, bench: Workbench) -> None:
    for name in FIGURES if figure == "all" else (figure,):
        if name in ON_IMAGES:
            missing = _no_images()
            if missing and figure != "all":
                raise InputError(missing)
            if missing:
                bench.say(f"Figure {name} is skipped. {missing}")
                continue
        import_module(f"slabfield.reproduce.{FIGURES[name]}").make(bench)
        written = sorted(path.name for path in bench.out.glob(f"{FIGURES[name]}*.*"))
        bench.say(f"Written in {bench.out}: {', '.join(written)}.")
    if figure == "all":
        bench.say(f"Written: {write_page(bench.out, bench.scale)}.")


def _no_images() -> str:
    """What is wrong with the images; empty where they can be loaded."""
    try:
        load_mnist_patches(1, random_state=0)
    except (FileNotFoundError, ValueError) as error:
        return str(error)
    return ""
