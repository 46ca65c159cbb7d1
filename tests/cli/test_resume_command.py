"""``slabfield resume``: real processes that are killed, interrupted, out of time or complete."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import slabfield
from slabfield import Posterior, SpikeSlabMRF, datasets, load_posterior
from slabfield.chains.checkpoint import Checkpoint
from slabfield.cli.app import app

# States are written at every opportunity
SCRIPT = """
from slabfield.chains import checkpoint
from slabfield.cli import main
checkpoint.INTERVAL_SECONDS, checkpoint.MOST_SHARE = 0.02, 1e9
main()
"""
SEED = ("--seed", "5", "--jobs", "1")


def rows() -> np.ndarray:
    return np.asarray(datasets.make_block(100, random_state=2).rows)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    pd.DataFrame(rows(), columns=[f"x{k}" for k in range(12)]).to_csv(path, index=False)
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def posterior_in(out: Path) -> Posterior:
    return load_posterior(out / "posterior.nc")


def result_times(out: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in out.iterdir() if path.is_file()}


def assert_equal(one: Posterior, other: Posterior) -> None:
    for name in ("bias", "p0", "sigma0", "potential", "conditional_probability"):
        assert np.array_equal(getattr(one.draws, name), getattr(other.draws, name)), name
    assert np.array_equal(one.draws.values.data, other.draws.values.data)


# --- complete and stopped runs ----------------------------------------------------------------


def test_after_a_time_budget_a_run_goes_on_until_it_has_converged(table: Path, out: Path) -> None:
    stopped = call("fit", table, "--out", out, *SEED, "--time-budget", 0.5)
    assert stopped.exit_code == 1, stopped.output
    first = posterior_in(out)
    assert first.settings["stopped_by"] == "time"
    assert f"slabfield resume {out}" in stopped.output.replace("\n", "")
    result = call("resume", out)
    assert result.exit_code == 0, result.output
    second = posterior_in(out)
    assert second.converged
    assert second.settings["stopped_by"] == "converged"
    n_draws = first.draws.n_draws
    assert second.draws.n_draws > n_draws
    assert np.array_equal(second.draws.bias[:, :n_draws], first.draws.bias)


def test_a_complete_run_goes_on_until_it_has_converged_and_then_no_further(
    table: Path, out: Path
) -> None:
    assert call("fit", table, "--out", out, *SEED, "--draws", 40, "--quiet").exit_code == 1
    assert call("resume", out, "--time-budget", 0.1, "--quiet").exit_code == 1
    assert posterior_in(out).settings["stopped_by"] == "time"
    assert call("resume", out, "--quiet").exit_code == 0
    converged = posterior_in(out)
    assert converged.settings["stopped_by"] == "converged"

    before = result_times(out)
    for options in ((), ("--draws", "auto")):
        result = call("resume", out, *options)
        assert result.exit_code == 0
        assert "Nothing to add" in result.output
        assert f"{converged.draws.n_draws} draws" in result.output
        assert "--draws N" in result.output.replace("\n", " ")
    assert call("resume", out, "--quiet").output == ""
    assert result_times(out) == before

    result = call("resume", out, "--draws", 25, "--quiet")
    longer = posterior_in(out)
    assert result.exit_code == (0 if longer.converged else 1)
    assert longer.draws.n_draws == converged.draws.n_draws + 25


def test_missing_results_are_written_again(table: Path, out: Path) -> None:
    """As after a kill between the last draw and the results."""
    assert call("fit", table, "--out", out, *SEED, "--quiet").exit_code == 0
    before = posterior_in(out)
    for name in ("posterior.nc", "report.html"):
        (out / name).unlink()
    assert call("resume", out, "--quiet").exit_code == 0
    assert_equal(before, posterior_in(out))
    assert (out / "report.html").exists()


@pytest.mark.parametrize("draws", ["many", "0", "-3"])
def test_invalid_draws(table: Path, out: Path, draws: str) -> None:
    result = call("resume", out, "--draws", draws)
    assert result.exit_code == 2
    assert "--draws" in result.output


# --- real processes ---------------------------------------------------------------------------


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def start(started: list[Any], *arguments: object) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | {"PYTHONPATH": str(Path(slabfield.__file__).parents[1])},
    )  # fmt: skip
    started.append(process)
    return process


def wait_for_draws(out: Path, process: subprocess.Popen[str], n_draws: int) -> None:
    """Wait until a chain has saved so many draws."""
    end = time.monotonic() + 120
    while not (out / "checkpoint" / "run.npz").exists() or (
        max(Checkpoint(out / "checkpoint").lengths, default=-1) < n_draws
    ):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("draws", [6_000, "auto"])
def test_a_killed_run_goes_on_to_its_end(
    table: Path, out: Path, started: list[Any], draws: int | str
) -> None:
    thin = {"auto": 150, 6_000: 1_000}[draws]
    process = start(started, "fit", table, "--out", out, *SEED, "--draws", draws)
    wait_for_draws(out, process, thin)
    process.kill()
    process.communicate()
    assert not (out / "posterior.nc").exists()
    assert Checkpoint(out / "checkpoint").stopped_by == ""
    result = call("resume", out, "--quiet")
    whole = SpikeSlabMRF(n_draws=draws, random_state=5).fit(rows()).posterior_
    assert result.exit_code == (0 if whole.converged else 1)
    assert posterior_in(out).settings["stopped_by"] == whole.settings["stopped_by"]
    assert_equal(whole, posterior_in(out))


def test_ctrl_c_in_warm_up_says_what_is_kept(table: Path, out: Path, started: list[Any]) -> None:
    process = start(started, "fit", table, "--out", out, *SEED, "--warmup", 10**6, "--draws", 20)
    wait_for_draws(out, process, 0)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert output == ""
    assert "of its 1000000 draws per chain" in errors
    assert "no results yet" in errors
    assert f"slabfield resume {out}" in errors
    assert "chains of" not in errors
    assert not (out / "posterior.nc").exists()
