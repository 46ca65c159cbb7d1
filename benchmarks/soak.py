"""A long fit and the memory it takes: writes docs/soak.md, .csv and a picture. ``make soak``.

The table is of MNIST patches where SLABFIELD_DATA has them, and of digits elsewhere. Few of the
draws are kept, so that what they take hides nothing.
"""

from __future__ import annotations

import argparse
import csv
import os
import threading
import time
from pathlib import Path

import numpy as np

from timing import setting

DOCS = Path(__file__).parents[1] / "docs"
EVERY = 2.0
THIN = 20
MOST_GROWTH = 0.02
PAGE = os.sysconf("SC_PAGE_SIZE")


def rows_to_fit() -> tuple[str, np.ndarray]:
    from slabfield import datasets

    try:
        patches = datasets.load_mnist_patches()
    except (ValueError, OSError):
        return "pooled digits", datasets.load_digits_binary(pool=2).to_numpy(np.uint8)
    return "MNIST patches", patches.train[:1_000]


class Watch(threading.Thread):
    """Notes the resident memory of this process every few seconds."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.start_time, self.curve, self.done = time.monotonic(), [], threading.Event()

    def run(self) -> None:
        while not self.done.wait(EVERY):
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            self.curve.append((time.monotonic() - self.start_time, pages * PAGE / 2**20))


def verdict(curve: np.ndarray, kept: float) -> tuple[bool, str]:
    """Compare the middle of the second and of the last quarter of the run."""
    quarters = np.array_split(curve[:, 1], 4)
    early, late = float(np.median(quarters[1])), float(np.median(quarters[3]))
    allowed = MOST_GROWTH * early + kept
    flat = late - early <= allowed
    return flat, (
        f"The memory {'stays flat' if flat else 'GROWS'}: {early:.0f} MiB in the second quarter of "
        f"the run and {late:.0f} MiB in the last (medians; a growth of {allowed:.0f} MiB is "
        f"allowed, {MOST_GROWTH:.0%} and the {kept:.1f} MiB that the draws take)."
    )


def draw_picture(curve: np.ndarray) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3), layout="constrained")
    axes = figure.subplots()
    axes.plot(curve[:, 0] / 60, curve[:, 1], color="black", linewidth=1)
    axes.set(xlabel="minutes", ylabel="resident memory (MiB)", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(DOCS / "images" / "soak.png", dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--likelihood", default="pseudo")
    asked = parser.parse_args()
    from slabfield import SpikeSlabMRF

    name, rows = rows_to_fit()
    model = SpikeSlabMRF(
        likelihood=asked.likelihood, n_draws=20_000, n_warmup=100, n_chains=2, n_jobs=1,
        sampler={"thin": THIN}, random_state=0, time_budget=60 * asked.minutes,
    )  # fmt: skip
    watch = Watch()
    watch.start()
    model.fit(rows)
    watch.done.set()
    watch.join()
    curve = np.array(watch.curve)
    draws = model.posterior_.draws
    parts = (draws.bias, draws.p0, draws.sigma0, draws.potential, draws.values.data)
    kept = 1.5 * sum(part.nbytes for part in parts) / 2**20
    flat, said = verdict(curve, kept)
    draw_picture(curve)
    with open(DOCS / "soak.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("seconds", "resident_mib"))
        writer.writerows((f"{seconds:.1f}", f"{mib:.1f}") for seconds, mib in curve)
    minutes = curve[-1, 0] / 60
    (DOCS / "soak.md").write_text(
        f"""# A long run and its memory

Made by `make soak` (`benchmarks/soak.py`; its numbers are in `soak.csv`):
`likelihood="{asked.likelihood}"` on {len(rows):,} rows of {name}, {rows.shape[1]} nodes,
{draws.n_chains} chains in one process, every {THIN}th draw kept, {draws.n_draws:,} of each chain by
the end. This record is of a run of {minutes:.0f} minutes (asked for: {asked.minutes:g}).

{said}

![Resident memory over time](images/soak.png)

{setting()}
""",
        encoding="utf-8",
    )
    print(said)
    raise SystemExit(0 if flat else 1)


if __name__ == "__main__":
    main()
