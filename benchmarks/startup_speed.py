"""What it takes to start: imports, the command line, and the first fit with nothing compiled."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import slabfield
from timing import section, table

N_CHAINS, N_WARMUP, N_DRAWS, N_ROWS = 4, 10, 50, 200
STARTS = {
    "import numpy": ("import numpy",),
    "import slabfield": ("import slabfield",),
    "slabfield --help": ("from slabfield.cli import main; main()", "--help"),
}
FIT = """
from slabfield import SpikeSlabMRF, datasets
rows = datasets.load_digits_binary(pool=2).iloc[:{n_rows}]
SpikeSlabMRF(n_chains={n_chains}, n_warmup={n_warmup}, n_draws={n_draws}, random_state=1).fit(rows)
"""


def cpu_of(arguments: tuple[str, ...], **environment: str) -> float:
    """CPU seconds of a new Python process that runs a piece of code."""
    paths = [str(Path(slabfield.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    whole = os.environ | environment | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", *arguments],
        check=True, env=whole, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def startup(quick: bool) -> str:
    """Section on start-up."""
    found: dict[str, list[float]] = {name: [] for name in STARTS}
    for _ in range(2 if quick else 11):
        for name, arguments in STARTS.items():
            found[name].append(cpu_of(arguments))
    median = {name: statistics.median(values) for name, values in found.items()}
    rows = [
        (f"`{name}`", f"{seconds:.2f}", f"{seconds - median['import numpy']:+.2f}",
         f"{seconds / median['import numpy']:.2f}")
        for name, seconds in median.items()
    ]  # fmt: skip
    n_warmup, n_draws = (1, 5) if quick else (N_WARMUP, N_DRAWS)
    code = FIT.format(n_rows=N_ROWS, n_chains=N_CHAINS, n_warmup=n_warmup, n_draws=n_draws)
    with tempfile.TemporaryDirectory() as folder:
        first = cpu_of((code,), SLABFIELD_CACHE=folder)
        second = min(cpu_of((code,), SLABFIELD_CACHE=folder) for _ in range(1 if quick else 2))
    fits = [
        ("first, nothing compiled", f"{first:.1f}", "1.00"),
        ("second, compiled code from disk", f"{second:.1f}", f"{second / first:.2f}"),
    ]
    return section(
        "Start-up",
        "CPU seconds of new Python processes; medians. `import slabfield` loads nothing heavy, "
        "numpy neither, until a name is used.",
        table(("", "CPU s", "beside numpy", "ratio to numpy"), rows),
        f"A fit of the first {N_ROWS} digits in 16 pixels, {N_CHAINS} chains of "
        f"{n_draws} draws after {n_warmup} of warm-up, in new processes, imports included. The "
        f"disk cache saves {first - second:.1f} CPU s.",
        table(("fit", "CPU s", "ratio to first"), fits),
    )
