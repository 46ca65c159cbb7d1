"""Chains on a Dask cluster: real processes on loopback, with the draws of a single process."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import pytest
from test_checkpoint import KINDS_OF_RUN, assert_same, block_rows, wide_rows
from typer.testing import CliRunner

from level_tables import MIXED_KINDS, mixed_table
from skips import require
from slabfield import SpikeSlabMRF, datasets, load_posterior
from slabfield.baselines import L1Neighborhood, L1PseudoLikelihood
from slabfield.chains import dask_client
from slabfield.chains import dask_cluster as clusters
from slabfield.cli.app import app
from slabfield.progress import Watch
from slabfield.reproduce.cache import Piece
from slabfield.reproduce.comparison import compare, estimators
from slabfield.reproduce.data_sets import DataSet
from slabfield.reproduce.fitted_models import fit_path
from slabfield.reproduce.scale import SCALES
from slabfield.reproduce.workbench import Workbench
from slabfield.validation import InputError

distributed = require("distributed")

SOURCES = Path(clusters.__file__).parents[2]
STARTED = 60.0


class Local(NamedTuple):
    """A scheduler and two workers, each a process of its own."""

    client: Any
    address: str
    workers: list[subprocess.Popen[bytes]]


def begin(kind: str, *arguments: str) -> subprocess.Popen[bytes]:
    paths = os.pathsep.join(filter(None, [str(SOURCES), os.environ.get("PYTHONPATH", "")]))
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments],
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    address = f"tcp://127.0.0.1:{free_port()}"
    folder = str(tmp_path_factory.mktemp("workers"))
    own = ("--host", "127.0.0.1", "--no-dashboard")
    scheduler = begin("scheduler", *own, "--port", address.rpartition(":")[2])
    worker = ("--no-nanny", "--nthreads", "1", "--local-directory", folder, *own)
    workers = [begin("worker", address, *worker) for _ in range(2)]
    try:
        with distributed.Client(address, timeout=STARTED) as client:
            client.wait_for_workers(2, timeout=STARTED)
            yield Local(client, address, workers)
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "ROUND_SECONDS", 0.1)


@pytest.mark.parametrize(
    "kind",
    ["exact", "particles", "until converged",
     *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("pseudo", "paper"))],
)  # fmt: skip
def test_the_draws_are_those_of_one_process(kind: str, local: Local) -> None:
    parameters = KINDS_OF_RUN[kind] | {"n_chains": 3, "random_state": 5}
    here = SpikeSlabMRF(**parameters).fit(block_rows())
    there = SpikeSlabMRF(**parameters).fit(block_rows(), cluster=local.client)
    assert_same(here.posterior_, there.posterior_)
    assert_same(here.resume(7).posterior_, there.resume(7, cluster=local.client).posterior_)


@pytest.mark.parametrize(
    "likelihood",
    ["exact", "particles", pytest.param("pseudo", marks=pytest.mark.slow)],
)
def test_columns_with_levels_and_missing_entries(likelihood: str, local: Local) -> None:
    table = mixed_table(40, missing=0.05)
    parameters: dict[str, Any] = {"likelihood": likelihood, "n_warmup": 20, "n_draws": 30}
    parameters |= {"n_chains": 2, "random_state": 5, "na": "impute", "kinds": MIXED_KINDS}
    here = SpikeSlabMRF(**parameters).fit(table)
    there = SpikeSlabMRF(**parameters).fit(table, cluster=local.client)
    assert_same(here.posterior_, there.posterior_)
    assert_same(here.resume(7).posterior_, there.resume(7, cluster=local.client).posterior_)


@pytest.mark.slow
def test_missing_entries_and_more_nodes(local: Local) -> None:
    rows = wide_rows().astype(float)
    rows[::7, 3] = np.nan
    parameters: dict[str, Any] = {"likelihood": "particles", "n_warmup": 10, "n_draws": 10}
    parameters |= {"n_chains": 2, "random_state": 2, "na": "impute"}
    here = SpikeSlabMRF(**parameters).fit(rows).posterior_
    assert_same(here, SpikeSlabMRF(**parameters).fit(rows, cluster=local.client).posterior_)


def test_data_are_sent_once_and_progress_covers_all_chains(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    rounds: list[Any] = []
    scatter, submit = local.client.scatter, local.client.submit
    monkeypatch.setattr(
        local.client, "scatter", lambda data, **how: (sent.append(how), scatter(data, **how))[1]
    )
    monkeypatch.setattr(
        local.client, "submit", lambda *args, **how: (rounds.append(args), submit(*args, **how))[1]
    )
    # a round has at least one chunk of draws, so that any machine needs several rounds
    monkeypatch.setattr("slabfield.chains.dask_cluster.ROUND_SECONDS", 0.01)
    watch = Watch(3, 20, 2_000)
    monkeypatch.setattr(SpikeSlabMRF, "_progress_reporter", lambda *_: _reporter(watch))
    parameters: dict[str, Any] = {
        "n_chains": 3,
        "n_warmup": 20,
        "n_draws": 2_000,
        "random_state": 1,
    }
    SpikeSlabMRF(**parameters, likelihood="pseudo").fit(block_rows(), cluster=local.client)
    assert [how["broadcast"] for how in sent] == [True]
    assert len(rounds) > 6
    assert [chain.draws for chain in watch.snapshot().chains] == [2_000] * 3
    assert watch._done == [2_020] * 3


def _reporter(watch: Watch) -> Any:
    from contextlib import nullcontext

    return nullcontext(watch)


def test_a_run_continues_from_its_checkpoint_there(local: Local, tmp_path: Path) -> None:
    parameters: dict[str, Any] = {"likelihood": "pseudo", "n_chains": 2, "n_warmup": 20}
    parameters |= {"n_draws": 50, "random_state": 5}
    longer = SpikeSlabMRF(**parameters | {"n_draws": 80}).fit(block_rows()).posterior_
    SpikeSlabMRF(**parameters).fit(block_rows(), checkpoint=tmp_path, cluster=local.address)
    model = SpikeSlabMRF.from_checkpoint(tmp_path)
    assert_same(longer, model.resume(30, cluster=local.address).posterior_)
    assert_same(longer, SpikeSlabMRF.from_checkpoint(tmp_path).posterior_)


def test_a_time_budget_ends_chains_there(local: Local) -> None:
    model = SpikeSlabMRF(n_warmup=5, n_draws=10**7, n_chains=3, time_budget=1.0, random_state=0)
    clock = time.monotonic()
    posterior = model.fit(block_rows(), cluster=local.client).posterior_
    assert time.monotonic() - clock < 20.0
    assert posterior.settings["stopped_by"] == "time"
    assert posterior.draws.n_draws > 0


def test_compilation_on_workers_does_not_count(
    local: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every round reports that its worker compiled for three seconds, up to three rounds."""
    n_reported = Counter[int]()
    update = clusters.Link.update

    def with_compilation(link: clusters.Link, state: clusters.State) -> None:
        n_reported[link.task.chain] += 1
        state.compile_seconds = 3.0 * (n_reported[link.task.chain] <= 3)
        update(link, state)

    monkeypatch.setattr(clusters.Link, "update", with_compilation)
    model = SpikeSlabMRF(n_warmup=5, n_draws=10**6, n_chains=2, time_budget=1.0, random_state=0)
    clock = time.monotonic()
    posterior = model.fit(block_rows(), cluster=local.client).posterior_
    # the budget, and what the rounds are said to have compiled
    assert time.monotonic() - clock >= 10.0
    assert posterior.settings["stopped_by"] == "time"


def test_joblib_runs_chains_on_its_backend(local: Local) -> None:
    parameters = KINDS_OF_RUN["pseudo"] | {"n_chains": 2, "random_state": 5}
    here = SpikeSlabMRF(**parameters).fit(block_rows()).posterior_
    with joblib.parallel_config(backend="dask", client=local.client):
        assert_same(here, SpikeSlabMRF(**parameters).fit(block_rows()).posterior_)


def test_other_methods_run_there(local: Local) -> None:
    rows = np.asarray(datasets.make_block(80, random_state=1).rows)
    for method in (L1Neighborhood(random_state=0), L1PseudoLikelihood(random_state=0)):
        here = method.fit(rows).coupling_
        with dask_client.everywhere(local.client):
            assert np.array_equal(here, method.fit(rows).coupling_)
    parameters: dict[str, Any] = {"n_draws": 30, "n_warmup": 5, "n_chains": 2}
    here, there = (
        compare(estimators(0, None, **parameters), rows[:50], rows[50:], 0, client=client)
        for client in (None, local.client)
    )
    for one, other in zip(here, there, strict=True):
        assert one._replace(cpu_seconds=0.0) == other._replace(cpu_seconds=0.0)
        assert isnan(other.cpu_seconds)


def test_pieces_of_a_figure_are_done_there_and_kept_here(local: Local, tmp_path: Path) -> None:
    pieces = [
        Piece(
            fit_path, {"data_set": DataSet("block", s, 50, 10), "method": "MLE", "n_strengths": 4}
        )
        for s in (1, 2, 3)
    ]
    here = Workbench(SCALES["tiny"], tmp_path / "here", 1, quiet=True)
    there = Workbench(SCALES["tiny"], tmp_path / "there", -1, quiet=True, client=local.client)
    for one, other in zip(here.results(pieces, "a"), there.results(pieces, "a"), strict=True):
        assert one.keys() == other.keys()
        assert all(np.array_equal(one[name], other[name]) for name in one)


def test_the_command_line_takes_a_cluster(local: Local, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    header = ",".join(f"x{i}" for i in range(block_rows().shape[1]))
    np.savetxt(file, block_rows(), "%d", ",", header=header, comments="")
    options = ["--draws", "40", "--warmup", "10", "--chains", "2", "--seed", "3", "--quiet"]
    for name, more in (("here", []), ("there", ["--cluster", local.address])):
        where = ["fit", str(file), "--out", str(tmp_path / name)]
        done = CliRunner().invoke(app, [*where, *options, *more])
        assert done.exit_code in (0, 1), done.output
    here, there = (load_posterior(tmp_path / name / "posterior.nc") for name in ("here", "there"))
    assert np.array_equal(here.draws.bias, there.draws.bias)


# Errors


def test_a_cluster_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(dask_client, "REACH_SECONDS", 0.5)
    address = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(InputError, match=f"(?s){address}.* Start one with dask scheduler"):
        SpikeSlabMRF().fit(block_rows(), cluster=address)
    done = CliRunner().invoke(app, ["reproduce", "1", "--out", str(tmp_path), "--cluster", address])
    assert done.exit_code == 2
    assert "Error: --cluster must be the address" in done.output


@pytest.mark.parametrize("cluster", ["somewhere", 8786, "", "nonsense://x:1", "tcp://x:port"])
def test_invalid_clusters(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_client, "REACH_SECONDS", 0.5)
    with pytest.raises(InputError, match="cluster must be the address"):
        SpikeSlabMRF().fit(block_rows(), cluster=cluster)


def test_tls_needs_a_certificate() -> None:
    with pytest.raises(InputError, match="no certificate in Dask's configuration"):
        SpikeSlabMRF().fit(block_rows(), cluster="tls://127.0.0.1:8786")


def test_a_scheduler_without_workers(local: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_client, "WORKER_SECONDS", 0.2)
    port = free_port()
    # a loop of its own would have to start within ten seconds, however busy the machine is
    loop = local.client.loop
    scheduler = begin(
        "scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"
    )  # fmt: skip
    try:
        with (
            distributed.Client(f"tcp://127.0.0.1:{port}", timeout=STARTED, loop=loop) as client,
            pytest.raises(InputError, match="must have a worker"),
        ):
            SpikeSlabMRF().fit(block_rows(), cluster=client)
    finally:
        scheduler.kill()
        scheduler.wait()


def test_workers_with_other_code_are_refused(local: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "code_fingerprint", lambda: "another")
    with pytest.raises(InputError, match="same versions"):
        SpikeSlabMRF(n_draws=10).fit(block_rows(), cluster=local.client)


def test_a_worker_is_killed_and_the_draws_are_the_same(local: Local) -> None:
    """The last test that uses the workers: afterwards only one is left."""
    rows = datasets.make_block(100, random_state=1).rows
    parameters: dict[str, Any] = {"likelihood": "particles", "n_warmup": 50, "n_draws": 3_000}
    parameters |= {"n_chains": 3, "random_state": 9}
    here = SpikeSlabMRF(**parameters).fit(rows).posterior_
    pids = local.client.run(os.getpid)
    victim, pid = next(iter(pids.items()))
    over = threading.Event()
    killed: list[str] = []

    def kill() -> None:
        """Kill a worker in the middle of a round, after a few rounds."""
        seen: set[str] = set()
        while not over.is_set():
            active = {str(key) for key in local.client.processing().get(victim, ())}
            seen |= active
            if active and len(seen) >= 5:
                os.kill(pid, signal.SIGKILL)
                killed.extend(active)
                return
            time.sleep(0.01)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        there = SpikeSlabMRF(**parameters).fit(rows, cluster=local.client).posterior_
    finally:
        over.set()
        thread.join()
    assert killed
    assert all("run_round" in key for key in killed)
    assert victim not in local.client.ncores()
    assert_same(here, there)
