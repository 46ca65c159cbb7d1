"""Kill runs at random moments, resume them, compare the draws: writes docs/recovery.md.

Run by ``make torture``. Each attempt is a process of its own, forked from one that has compiled
everything, and is killed (SIGKILL) after a random time; the next goes on from what it left.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from accuracy import to_markdown
from slabfield import Posterior, SpikeSlabMRF, datasets, load_posterior
from slabfield.chains import checkpoint as checkpoints
from slabfield.chains.checkpoint import ChainFile, Checkpoint, read_checked
from slabfield.chains.run_clock import Stopwatch

INTERVAL = 0.05
RUNS: dict[str, dict[str, Any]] = {
    "exact, until converged": {"n_draws": "auto", "max_draws": 2_000, "n_warmup": 300},
    "pseudo": {"likelihood": "pseudo", "n_draws": 1_500, "n_warmup": 300},
    "particles": {"likelihood": "particles", "n_draws": 80, "n_warmup": 40},
    "paper": {"preset": "paper", "n_draws": 120, "n_warmup": 60, "sampler": {"thin": 100}},
    "paper, exact": {"preset": "paper", "likelihood": "exact", "n_draws": 1_000, "n_warmup": 200},
}
COMMON: dict[str, Any] = {"n_chains": 2, "random_state": 7, "n_jobs": 2}


def rows() -> Any:
    return datasets.make_block(100, random_state=1).rows


def same(one: Posterior, other: Posterior) -> bool:
    """Whether two posteriors are equal, bit for bit, in all but the time they took."""
    arrays = [
        (getattr(one.draws, name), getattr(other.draws, name))
        for name in ("bias", "p0", "sigma0", "potential", "chance")
    ]
    arrays += [
        (getattr(one.draws.values, name), getattr(other.draws.values, name))
        for name in ("data", "indices", "indptr")
    ]
    info = [[{**of, "cpu_seconds": 0} for of in posterior.info] for posterior in (one, other)]
    return (
        all(np.array_equal(first, second, equal_nan=True) for first, second in arrays)
        and info[0] == info[1]
        and one.settings == other.settings
    )


def begin(parameters: dict[str, Any], folder: Path) -> int:
    """Start an attempt in a process of its own, which saves the posterior at its end."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            model = SpikeSlabMRF(**COMMON | parameters).fit(
                rows(), checkpoint=folder / "checkpoint"
            )
            model.posterior_.save(folder / "posterior.nc")
            code = 0
        finally:
            os._exit(code)
    return child


def found_in(folder: Path, begun: float, killed: float) -> tuple[str, float, int]:
    """Read what a killed run left: how far it was, what it had not written, temporary files."""
    where, last = Counter[str](), begun
    for path in Checkpoint(folder).chain_files():
        metadata, _ = read_checked(path, "")
        parts = {key["plain"]: part for key, part in metadata["state"]["dict"]}
        where["draws" if parts["draws"]["dict"] else "warm-up"] += 1
        last = max(last, path.stat().st_mtime)
    moment = " and ".join(sorted(where)) or "start"
    return moment, killed - last, len(list(folder.glob(".slabfield-*")))


def torture(parameters: dict[str, Any], n_kills: int, rng: np.random.Generator) -> dict[str, Any]:
    """Kill one run so many times, then let it come to its end."""
    # everything is compiled here, before the first attempt
    whole = SpikeSlabMRF(**COMMON | parameters | {"n_jobs": 1}).fit(rows()).posterior_
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clock = time.monotonic()
        os.waitpid(begin(parameters, folder), 0)
        seconds = time.monotonic() - clock
        os.waitpid(begin(parameters, folder), 0)
        # what it takes to read the states and to find that nothing is left to do
        again = time.monotonic() - clock - seconds
        first = load_posterior(folder / "posterior.nc")
    moments, lost, left, early = Counter[str](), 0.0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kills = 0
        while kills < n_kills:
            begun, child = time.time(), begin(parameters, folder)
            time.sleep(rng.uniform(0, 2 * again + 2 * seconds / n_kills))
            if os.waitpid(child, os.WNOHANG)[0] != 0:
                # it came to its end before: begin once more
                early += 1
                assert same(whole, load_posterior(folder / "posterior.nc"))
                Checkpoint(folder / "checkpoint").discard()
                continue
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            kills += 1
            moment, age, temporary = found_in(folder / "checkpoint", begun, time.time())
            moments[moment] += 1
            lost, left = max(lost, age), left + (temporary > 0)
        _, status = os.waitpid(begin(parameters, folder), 0)
        assert status == 0
        identical = same(whole, first) and same(whole, load_posterior(folder / "posterior.nc"))
    return {
        "seconds": round(seconds, 1), "kills": kills, "before any state": moments["start"],
        "in warm-up": moments["warm-up"], "between": moments["draws and warm-up"],
        "in draws": moments["draws"], "while writing": left, "runs": early + 1,
        "most lost, s": round(lost, 2), "identical": "yes" if identical else "NO",
    }  # fmt: skip


def cost() -> pd.DataFrame:
    """Size of a chain's state and the time to write it, beside the standard interval."""
    found = []
    rng = np.random.default_rng(1)
    kinds = (("exact", 12, 500), ("pseudo", 64, 200), ("particles", 32, 100))
    for likelihood, n_nodes, n_draws in kinds:
        data = (rng.random((1_000, n_nodes)) < 0.3).astype(int)
        parameters: dict[str, Any] = {"n_chains": 1, "random_state": 1, "n_warmup": 20}
        model = SpikeSlabMRF(likelihood, n_draws=n_draws, **parameters)
        (run,) = model.fit(data)._runs
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "state.npz"
            run.file = ChainFile(path, None, Stopwatch())  # type: ignore[arg-type]
            times = []
            for _ in range(5):
                clock = time.perf_counter()
                run.save()
                times.append(time.perf_counter() - clock)
            size = path.stat().st_size
        found.append(
            {
                "likelihood": likelihood, "nodes": n_nodes, "draws": n_draws,
                "state, MB": round(size / 1e6, 2), "to write, ms": round(1e3 * np.median(times)),
                "share at 10 s": f"{np.median(times) / 10:.2%}",
            }
        )  # fmt: skip
    return pd.DataFrame(found)


PAGE = """# Runs that are interrupted

Every `slabfield fit FILE --out DIR` writes the state of its chains to `DIR/checkpoint`, and so does
`fit(X, checkpoint=PATH)`. A chain's state is written about every {interval:g} seconds (less often
where writing takes more than {share:.0%} of the time), at the end of warm-up and at the end of each
round of draws.

| what happens | what is lost | what to do |
|---|---|---|
| power failure, `kill -9`, out of memory | what was done since the last state, or the start if there is none yet | `slabfield resume DIR`, or the same `fit(X, checkpoint=PATH)`, or `SpikeSlabMRF.from_checkpoint(PATH).resume()` |
| Ctrl-C | nothing: chains finish their chunk, the state is saved, the draws so far are summarized and written (exit code 1); during warm-up there are none, and only the state is saved (exit code 130) | the same, or `model.resume()` in the same process |
| Ctrl-C twice | what was done since the last state (exit code 130) | the same |
| disk full | nothing: the run goes on, a warning says so, the old state stays | make room |
| folder that cannot be written in | nothing: the run does not begin (exit code 2) | name another folder |
| file cut short or damaged | nothing: the run does not go on (exit code 2) | delete the file: its chain restarts, with the same draws |
| other data, settings, seed or version of slabfield | nothing: the run does not begin, the state stays (exit code 2) | name another folder |
| time budget over, or not converged | nothing | `slabfield resume DIR` goes on until converged, as does `model.resume()` |
| too few draws | nothing | `slabfield resume DIR --draws 1000`, or `model.resume(n_draws=1000)` |

The result of a resumed run equals that of an uninterrupted one bit for bit: all draws, inclusion
probabilities and counts, whatever the number of workers, on the same machine with the same versions
of numpy, scipy and numba. With a time budget the clock decides where a run ends, and the draws are the same
as far as both go. The same `fit` goes on with what is left of its budget; `resume` has a budget of
its own, and none by default. The work before the first state, a chain's start, is done again.

How far `resume` goes:

| the run | `resume()`, `slabfield resume DIR` | `n_draws=50`, `--draws 50` |
|---|---|---|
| was killed, interrupted or out of time, and was to make a fixed number of draws | to that number | 50 more than there are |
| was killed, interrupted or out of time, and was to run until converged | until converged | 50 more than there are |
| is complete, and has not converged | until converged (`n_draws="auto"`) | 50 more |
| is complete, and has converged | adds nothing, and says so | 50 more |

`slabfield fit` into a folder with the checkpoint of a run that was killed or interrupted goes on
with it if it is the same run, and else refuses; that of a run that has ended is replaced. `compare` and
`reproduce` do not write checkpoints; `reproduce` keeps the pieces that it has finished. Files hold
arrays and JSON only (NumPy's npz, never pickle) and end with a SHA-256 digest. They hold the
coded data too: whoever gets the folder gets the data. Worker processes of joblib end within about a
second of the process that started them, however that ended.

## Torture

Made by `make torture` (`benchmarks/torture.py`): {kills} `kill -9` at random moments, on block data
(12 nodes, 100 rows), two chains on two threads, states written every {fast:g} s. Every file that
was left could be read after every kill. Most lost: the longest time between the last state that
any chain wrote, or else the start of the process, and the kill, on a busy machine. Where a run came
to its end before it was killed often enough, it was started again.
{verdict}

{table}

## Cost

One state of one chain, median of five, in the same run: on a busy machine this is an upper bound.
Writing never takes more than {share:.0%} of a chain's time: where it would, it is done less often.

{cost}
"""  # noqa: E501


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("docs/recovery.md"))
    options = parser.parse_args()
    costs = cost()
    limits = {"interval": checkpoints.INTERVAL_SECONDS, "share": checkpoints.MOST_SHARE}
    checkpoints.INTERVAL_SECONDS, checkpoints.MOST_SHARE = INTERVAL, 1.0
    rng = np.random.default_rng(11)
    found = []
    for name, run in RUNS.items():
        found.append({"run": name} | torture(run, -(-options.kills // len(RUNS)), rng))
        print(found[-1], flush=True)
    table = pd.DataFrame(found)
    n_same = int((table["identical"] == "yes").sum())
    text = PAGE.format(
        kills=int(table["kills"].sum()), fast=INTERVAL, table=to_markdown(table),
        cost=to_markdown(costs), **limits,
        verdict=f"Final draws identical to those of the uninterrupted run: {n_same} of "
        f"{len(table)} kinds of run.",
    )  # fmt: skip
    options.out.write_text(text, encoding="utf-8")
    print(text)
    if n_same < len(table):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
