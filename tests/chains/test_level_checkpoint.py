"""Runs of nodes with levels continue from their checkpoints bit for bit, whatever the engine."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_checkpoint import (
    Cuts,
    assert_same,
    cuts,  # noqa: F401
    end_of,
    no_interval,  # noqa: F401
    no_process_is_left,  # noqa: F401
    start,
    wait_for,
)

from level_tables import MIXED_KINDS, mixed_table, ordinal_table
from slabfield import SpikeSlabMRF, load_posterior
from slabfield.chains.checkpoint import read_checked, write_checked
from slabfield.validation import InputError

PAPER: dict[str, Any] = {"preset": "paper", "n_warmup": 10, "n_draws": 20}
RUNS: dict[str, dict[str, Any]] = {
    "exact": {"kinds": MIXED_KINDS, "n_warmup": 20, "n_draws": 40},
    "pseudo": {"kinds": MIXED_KINDS, "likelihood": "pseudo", "n_warmup": 20, "n_draws": 40},
    "particles": {"kinds": MIXED_KINDS, "likelihood": "particles", "n_warmup": 20, "n_draws": 30},
    "particles in scheduled blocks": {
        "likelihood": "particles", "n_warmup": 12, "n_draws": 12, "sampler": {"n_particles": 64},
    },
    "paper": PAPER | {"sampler": {"thin": 5}},
    "paper, full": PAPER | {"sampler": {"thin": 5, "preconditioner": "full"}},
    "Bayes Exact": PAPER | {"likelihood": "exact"},
}  # fmt: skip


def estimator(run: str, **others: Any) -> SpikeSlabMRF:
    parameters = {"n_chains": 2, "random_state": 5, "n_jobs": 1, "na": "impute"}
    return SpikeSlabMRF(**parameters | RUNS[run] | others)


def table(run: str) -> Any:
    """Return a table with missing entries."""
    if run != "particles in scheduled blocks":
        return mixed_table(40, missing=0.05)
    rows = ordinal_table(26, 40).astype(float)
    rows[::9, 3] = np.nan
    return rows


@pytest.mark.usefixtures("no_interval")
@pytest.mark.parametrize("run", RUNS)
def test_a_run_interrupted_repeatedly_makes_the_same_draws(
    run: str,
    tmp_path: Path,
    cuts: Cuts,  # noqa: F811
) -> None:
    whole = estimator(run).fit(table(run)).posterior_
    cut = cuts.fit(lambda: estimator(run).fit(table(run), checkpoint=tmp_path))
    assert cuts.n_cuts >= 2
    assert_same(whole, cut.posterior_)
    nominal = whole.draws.sigma0_nominal
    # pairs with several parameters have a slab of their own, except in the paper's model
    assert (nominal is not None) == (run in ("exact", "pseudo", "particles"))
    assert np.array_equal(nominal, cut.posterior_.draws.sigma0_nominal)
    assert (whole.draws.parameters != cut.posterior_.draws.parameters).nnz == 0


@pytest.mark.parametrize("run", ["exact", "pseudo", "particles", "paper"])
def test_resuming_equals_one_longer_run(run: str, tmp_path: Path) -> None:
    longer = estimator(run, n_draws=25).fit(table(run)).posterior_
    assert_same(longer, estimator(run, n_draws=15).fit(table(run)).resume(10).posterior_)
    first = estimator(run, n_draws=15).fit(table(run), checkpoint=tmp_path)
    again = SpikeSlabMRF.from_checkpoint(tmp_path)
    assert again.variables_ == first.variables_
    assert_same(first.posterior_, again.posterior_)
    assert_same(longer, again.resume(10).posterior_)
    assert_same(longer, SpikeSlabMRF.from_checkpoint(tmp_path).posterior_)


def test_a_killed_run_resumes(tmp_path: Path) -> None:
    path, out = tmp_path / "table.csv", tmp_path / "out"
    mixed_table(40).to_csv(path, index=False)
    kinds = ("--blume-capel", "opinion", "--jobs", 1)
    length = ("--chains", 2, "--warmup", 500, "--draws", 4_000, "--seed", 5, "--quiet")
    run = start("fit", path, "--out", out, *kinds, *length)
    wait_for(out / "checkpoint" / "exact-0.npz", run)
    run.kill()
    run.communicate()
    (out / "posterior.nc").unlink(missing_ok=True)
    code, errors = end_of(start("resume", out, "--quiet"))
    whole = SpikeSlabMRF(
        kinds=MIXED_KINDS, n_chains=2, n_warmup=500, n_draws=4_000, random_state=5
    ).fit(pd.read_csv(path))
    assert code == (0 if whole.posterior_.converged else 1), errors
    assert_same(whole.posterior_, load_posterior(out / "posterior.nc"))


# Integers by which compiled code finds its way; the rest is workspace that is filled before use
INDICES = (
    "chain/problem/", "chain/engine/features/", "chain/engine/cliques/", "chain/engine/stride",
    "chain/engine/first", "chain/engine/second", "chain/engine/row_start", "chain/engine/states",
    "chain/engine/neighbors", "chain/engine/degree", "chain/engine/coordinate",
    "chain/engine/line", "chain/engine/place", "chain/engine/codes", "chain/engine/bounds",
    "chain/engine/empty", "chain/block/nodes", "chain/block/order", "chain/block/group/order",
    "chain/state/members", "chain/state/n_members", "chain/plan/blocks", "chain/plan/moves",
    "chain/plan/move_start", "chain/plan/together", "chain/pilot/edges", "chain/jumps/order",
)  # fmt: skip
# In the block of rows this is the order of a group; in other blocks workspace of flips
ROW_INDICES = (*INDICES, "chain/block/laplace/order")


@pytest.mark.parametrize("run", [run for run in RUNS if run != "paper, full"])
def test_indices_out_of_bounds_are_refused(run: str, tmp_path: Path) -> None:
    estimator(run, n_draws=3, n_chains=1).fit(table(run), checkpoint=tmp_path)
    (path,) = tmp_path.glob("*-0.npz")
    metadata, arrays = read_checked(path, "")
    prefixes = ROW_INDICES if run == "pseudo" else INDICES
    names = [
        name
        for name, array in arrays.items()
        if name.startswith(prefixes) and array.dtype.kind in "iu" and array.size
    ]
    assert {"chain/engine/states", "chain/engine/codes", "chain/engine/features/level_start",
            "chain/engine/cliques/table_start"} & set(names)  # fmt: skip
    assert "chain/problem/missing_entries/features/group_start" in names
    accepted = []
    for name in names:
        for place in (0, (arrays[name].size - 1) // 2):
            wrong = arrays[name].copy()
            wrong.flat[place] = 255 if wrong.dtype == np.uint8 else 100_000
            write_checked(path, metadata, arrays | {name: wrong})
            try:
                SpikeSlabMRF.from_checkpoint(tmp_path)
                accepted.append((name, place))
            except InputError as error:
                assert "restart its chain" in str(error)  # noqa: PT017
    assert accepted == []
    write_checked(path, metadata, arrays)
    SpikeSlabMRF.from_checkpoint(tmp_path)
