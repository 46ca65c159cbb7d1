"""Interrupted runs continue from their checkpoints, with the same draws bit for bit."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from skips import NEEDS_LINUX, NO_MOUNT
from slabfield import Posterior, SpikeSlabMRF, datasets, load_posterior
from slabfield.chains import checkpoint as checkpoints
from slabfield.chains import collapsed_warmup, exact_chain
from slabfield.chains.chain_run import KINDS
from slabfield.chains.checkpoint import Checkpoint, Stop, pack, read_checked, unpack, write_checked
from slabfield.chains.validate_state import check_state
from slabfield.configuration import default_exact
from slabfield.models.binary import BinaryPairwise
from slabfield.priors import Prior
from slabfield.problem import Problem
from slabfield.validation import InputError, InputWarning

SOURCES = Path(checkpoints.__file__).parents[2]

KINDS_OF_RUN: dict[str, dict[str, Any]] = {
    "exact": {"n_warmup": 20, "n_draws": 60},
    "pseudo": {"likelihood": "pseudo", "n_warmup": 20, "n_draws": 60},
    "particles": {"likelihood": "particles", "n_warmup": 20, "n_draws": 40},
    "paper": {"preset": "paper", "n_warmup": 20, "n_draws": 40, "sampler": {"thin": 10}},
    "paper, full": {
        "preset": "paper", "n_warmup": 10, "n_draws": 20,
        "sampler": {"thin": 5, "preconditioner": "full"},
    },
    "Bayes Exact": {"preset": "paper", "likelihood": "exact", "n_warmup": 20, "n_draws": 60},
    "until converged": {"n_warmup": 10, "n_draws": "auto", "max_draws": 1_100},
}  # fmt: skip


def block_rows() -> np.ndarray:
    return np.asarray(datasets.make_block(60, random_state=0, n_groups=1).rows)


def wide_rows() -> np.ndarray:
    """More nodes than sweeps visit in full: chains start with a pseudo-likelihood pilot run."""
    return (np.random.default_rng(1).random((60, 26)) < 0.3).astype(int)


def assert_same(one: Posterior, other: Posterior) -> None:
    """Assert that two posteriors are equal except for the time they took."""
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(one.draws.values, name), getattr(other.draws.values, name))
    for name in ("bias", "p0", "sigma0", "potential", "conditional_probability",
                 "log_bayes_factor", "log_bayes_factor_mcse"):  # fmt: skip
        first, second = getattr(one.draws, name), getattr(other.draws, name)
        assert np.array_equal(first, second, equal_nan=True), name
    # the command line records the name of the file, too
    assert one.settings | {"file": ""} == other.settings | {"file": ""}
    for first, second in zip(one.info, other.info, strict=True):
        assert first.keys() == second.keys()
        assert all(first[key] == second[key] for key in first if key != "cpu_seconds")


@pytest.fixture
def no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the state after every chunk."""
    monkeypatch.setattr(checkpoints, "INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "MOST_SHARE", 1e9)


class Cuts:
    """Stops a run after some checks for a stop, repeatedly, a few checks later each time."""

    def __init__(self) -> None:
        self.left, self.n_cuts, self.most = 0, 0, 1

    def requested(self) -> bool:
        self.left -= 1
        return self.left < 0

    def fit(self, fit: Callable[[], SpikeSlabMRF]) -> SpikeSlabMRF:
        """Fit, interrupted, until the run is complete."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Ctrl-C ended")
            while True:
                self.left = self.most
                try:
                    found = fit()
                except KeyboardInterrupt:
                    found = None
                if found is not None and found.posterior_.settings["stopped_by"] != "interrupt":
                    return found
                self.n_cuts, self.most = self.n_cuts + 1, self.most + 3


@pytest.fixture
def cuts(monkeypatch: pytest.MonkeyPatch) -> Cuts:
    found = Cuts()
    monkeypatch.setattr(Stop, "requested", lambda _: found.requested())
    return found


@pytest.mark.usefixtures("no_interval")
@pytest.mark.parametrize("kind", KINDS_OF_RUN)
def test_a_run_interrupted_repeatedly_makes_the_same_draws(
    kind: str, tmp_path: Path, cuts: Cuts
) -> None:
    parameters = KINDS_OF_RUN[kind] | {"n_chains": 2, "random_state": 5, "n_jobs": 1}
    whole = SpikeSlabMRF(**parameters).fit(block_rows()).posterior_
    cut = cuts.fit(lambda: SpikeSlabMRF(**parameters).fit(block_rows(), checkpoint=tmp_path))
    assert cuts.n_cuts >= 3
    assert_same(whole, cut.posterior_)


@pytest.mark.usefixtures("no_interval")
def test_restarted_chains_and_runs_that_fell_back_continue_too(
    tmp_path: Path, cuts: Cuts, monkeypatch: pytest.MonkeyPatch
) -> None:
    # every chain counts as dense until it is restarted twice; below, particles are refused
    monkeypatch.setattr(
        collapsed_warmup, "in_dense_mode", lambda c: c.pilot is not None and c.n_restarts < 2
    )
    parameters: dict[str, Any] = {"n_warmup": 12, "n_draws": 20, "n_chains": 2, "random_state": 5}
    with_particles = {"likelihood": "particles", "sampler": {"n_particles": 64}, **parameters}
    whole = SpikeSlabMRF(**with_particles).fit(wide_rows()).posterior_
    assert [info["restarts"] for info in whole.info] == [2, 2]
    folder = tmp_path / "restarted"
    cut = cuts.fit(
        lambda: SpikeSlabMRF(**with_particles, n_jobs=1).fit(wide_rows(), checkpoint=folder)
    )
    assert cuts.n_cuts >= 2
    assert_same(whole, cut.posterior_)

    monkeypatch.setattr("slabfield.chains.parallel.NOISE_LIMIT", -1.0)
    monkeypatch.setattr(Stop, "requested", lambda _: False)
    whole = SpikeSlabMRF(sampler={"n_particles": 64}, **parameters).fit(wide_rows()).posterior_
    assert "too noisy" in whole.settings["fell_back"]
    folder = tmp_path / "back"
    monkeypatch.setattr(Stop, "requested", lambda _: cuts.requested())
    parameters |= {"sampler": {"n_particles": 64}, "n_jobs": 1}
    cut = cuts.fit(lambda: SpikeSlabMRF(**parameters).fit(wide_rows(), checkpoint=folder))
    assert_same(whole, cut.posterior_)


@pytest.mark.parametrize("wrong", [(2, 3, 12), (2, 3, -1), (2, 0, 5), (2, 3, 2)])
def test_invalid_groups_of_nodes_are_refused(wrong: tuple[int, int, int]) -> None:
    rows = np.asarray(datasets.make_block(60, random_state=0).rows)
    model = BinaryPairwise(rows.shape[1])
    problem = Problem(model, rows, model.sums(rows), Prior.standard(model.n_interactions))
    template = exact_chain.start(problem, default_exact(), np.random.default_rng(0), "empty")
    check_state(template, template)
    together = template.plan.together.copy()
    row, column, node = wrong
    together[row, column] = node
    with pytest.raises(ValueError, match="invalid groups of nodes"):
        check_state(template._replace(plan=template.plan._replace(together=together)), template)


def test_an_invalid_order_of_edges_is_refused() -> None:
    rows = block_rows()
    model = BinaryPairwise(rows.shape[1])
    problem = Problem(model, rows, model.sums(rows), Prior.standard(model.n_interactions))
    template, wrong = (
        exact_chain.start(problem, default_exact(), np.random.default_rng(0), "empty")
        for _ in range(2)
    )
    check_state(wrong, template)
    wrong.engine.surrogate.order[3] = model.n_interactions
    with pytest.raises(ValueError, match="order of edges"):
        check_state(wrong, template)


@pytest.mark.parametrize("kind", ["exact", "paper"])
def test_resuming_equals_one_longer_run(kind: str, tmp_path: Path) -> None:
    parameters = KINDS_OF_RUN[kind] | {"n_chains": 2, "random_state": 5}
    longer = SpikeSlabMRF(**parameters | {"n_draws": 75}).fit(block_rows()).posterior_
    parameters |= {"n_draws": 50}
    assert_same(longer, SpikeSlabMRF(**parameters).fit(block_rows()).resume(25).posterior_)
    SpikeSlabMRF(**parameters).fit(block_rows(), checkpoint=tmp_path)
    assert_same(longer, SpikeSlabMRF.from_checkpoint(tmp_path).resume(25).posterior_)
    # the checkpoint is that of the longer run now
    assert_same(longer, SpikeSlabMRF.from_checkpoint(tmp_path).posterior_)


def test_the_same_fit_goes_on_with_its_time_budget(tmp_path: Path) -> None:
    parameters = {"n_chains": 2, "random_state": 5, "n_draws": 10**7, "time_budget": 0.3}
    first = SpikeSlabMRF(**parameters).fit(block_rows(), checkpoint=tmp_path).posterior_
    assert first.settings["stopped_by"] == "time"
    assert Checkpoint(tmp_path).elapsed >= 0.3
    again = SpikeSlabMRF(**parameters).fit(block_rows(), checkpoint=tmp_path).posterior_
    assert_same(first, again)


def test_chains_in_processes_draw_the_same(tmp_path: Path) -> None:
    parameters: dict[str, Any] = {"likelihood": "pseudo", "n_chains": 2, "random_state": 5}
    parameters |= {"n_warmup": 20, "n_draws": 30, "n_jobs": 2}
    whole = SpikeSlabMRF(**parameters).fit(block_rows()).posterior_
    with joblib.parallel_config(backend="loky"):
        there = SpikeSlabMRF(**parameters).fit(block_rows(), checkpoint=tmp_path)
        assert_same(whole, there.posterior_)
        longer = there.resume(10).posterior_
    assert_same(longer, SpikeSlabMRF(**parameters | {"n_draws": 40}).fit(block_rows()).posterior_)


@pytest.mark.parametrize("kind", ["exact", "pseudo", "particles", "paper"])
def test_a_state_is_packed_completely(kind: str) -> None:
    parameters = KINDS_OF_RUN[kind] | {"n_chains": 1, "random_state": 5}
    (run,) = SpikeSlabMRF(**parameters).fit(block_rows())._runs
    arrays: dict[str, Any] = {}
    given = {"problem": run.problem, "settings": run.settings}
    tree = json.loads(json.dumps(pack(run.chain, arrays, given)))
    back = unpack(tree, arrays, given, KINDS)
    assert type(back) is type(run.chain)
    assert type(back.engine) is type(run.chain.engine)
    assert not any(np.shares_memory(a, b) for a, b in combinations(arrays.values(), 2))
    if kind == "pseudo":
        assert np.shares_memory(back.engine.x, back.engine.ones)
    with pytest.raises(KeyError):
        unpack(tree, arrays, given, ())


# Invalid files and folders


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    SpikeSlabMRF(n_draws=20, n_warmup=5, n_chains=2, random_state=5).fit(
        block_rows(), checkpoint=folder
    )
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.npz")}


@pytest.mark.parametrize("name", ["run.npz", "exact-1.npz"])
def test_damaged_files_are_refused(finished: Path, name: str) -> None:
    path, rng = finished / name, np.random.default_rng(0)
    whole = path.read_bytes()
    for length in (0, 10, 105, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"cut short|damaged"):
            SpikeSlabMRF.from_checkpoint(finished)
    for place in rng.integers(0, len(whole), 40):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(flipped))
        with pytest.raises(InputError, match=r"cut short|damaged"):
            SpikeSlabMRF.from_checkpoint(finished)
    if name != "run.npz":
        path.unlink()
        before = contents(finished)
        SpikeSlabMRF.from_checkpoint(finished)
        assert contents(finished).keys() == before.keys() | {name}


def test_files_with_a_valid_checksum_and_invalid_content_are_refused(finished: Path) -> None:
    path = finished / "exact-0.npz"
    metadata, arrays = read_checked(path, "")
    for name, array in arrays.items():
        if name.startswith("draws/") and array.ndim == 1:
            write_checked(path, metadata, arrays | {name: array[:-1]})
            with pytest.raises(InputError, match="Delete this file to restart its chain"):
                SpikeSlabMRF.from_checkpoint(finished)
    for wrong in (
        {},
        metadata | {"state": {"tuple": [], "kind": "Popen"}},
        metadata | {"state": 3},
    ):
        write_checked(path, wrong, arrays)
        with pytest.raises(InputError):
            SpikeSlabMRF.from_checkpoint(finished)


def test_another_version_is_refused(finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(finished)
    monkeypatch.setattr("slabfield.__version__", "9.9")
    with pytest.raises(InputError, match=r"slabfield \('.*' there, '9\.9' here\)"):
        SpikeSlabMRF.from_checkpoint(finished)
    monkeypatch.undo()
    ours = checkpoints.FORMAT
    monkeypatch.setattr(checkpoints, "FORMAT", ours + 1)
    words = f"has format {ours}; this version of slabfield reads format {ours + 1}"
    with pytest.raises(InputError, match=words):
        SpikeSlabMRF.from_checkpoint(finished)
    assert contents(finished) == before


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ({"n_draws": 30}, r"another one, which differs in draws \(20 there, 30 here\)\. To keep"),
        ({"random_state": 6}, r"which differs in seed \(5 there, 6 here\)\. To keep"),
        ({"slab_prior": (4, 5)}, "slab prior"),
        ({"likelihood": "pseudo"}, r"likelihood \('exact' there|engine"),
        ({}, "which differs in the data"),
    ],
)
def test_another_run_is_refused(finished: Path, other: dict[str, Any], found: str) -> None:
    before = contents(finished)
    parameters = {"n_draws": 20, "n_warmup": 5, "n_chains": 2, "random_state": 5} | other
    rows = block_rows() if other else 1 - block_rows()
    with pytest.raises(InputError, match=found):
        SpikeSlabMRF(**parameters).fit(rows, checkpoint=finished)
    assert contents(finished) == before


def test_temporary_files_of_a_killed_process_are_removed(finished: Path) -> None:
    left = [finished / ".slabfield-1-00ff.tmp.npz", finished / "stop-1-0"]
    for path in left:
        path.write_bytes(b"half")
    SpikeSlabMRF.from_checkpoint(finished)
    assert not any(path.exists() for path in left)


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no run\.npz"):
        SpikeSlabMRF.from_checkpoint(tmp_path)


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Make a file system of a few kilobytes, where that is allowed."""
    there = tmp_path / "disk"
    there.mkdir()

    def mount(options: str) -> Path:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(there)]
        if os.getuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
            pytest.skip(NO_MOUNT)
        return there

    yield mount
    # one may have been mounted over another
    while subprocess.run(["umount", str(there)], capture_output=True).returncode == 0:
        pass


def test_a_full_disk_does_not_stop_the_run_and_keeps_the_old_state(
    finished: Path, tiny_disk: Callable[..., Path], no_interval: None
) -> None:
    pages = {name: len(content) // 4096 + 1 for name, content in contents(finished).items()}
    # the header fits twice, a chain does not
    size = 4096 * (sum(pages.values()) + pages["run.npz"])
    folder = tiny_disk(f"size={size}")
    for path in finished.glob("*.npz"):
        shutil.copy(path, folder)
    with pytest.warns(InputWarning, match="No space left.*the state written before is intact"):
        longer = SpikeSlabMRF.from_checkpoint(folder).resume(4_000)
    assert longer.posterior_.draws.n_draws == 4_020
    assert not list(folder.glob(".slabfield-*"))
    for path in folder.glob("*.npz"):
        read_checked(path, "")
    tiny_disk(f"remount,size={100 * size}")
    # the header was not written at the end: there are draws left to be made again
    assert_same(longer.posterior_, SpikeSlabMRF.from_checkpoint(folder).resume().posterior_)


def test_a_read_only_folder(tiny_disk: Callable[..., Path]) -> None:
    folder = tiny_disk("ro")
    with pytest.raises(InputError, match="Read-only file system"):
        SpikeSlabMRF(n_draws=5, n_warmup=0).fit(block_rows(), checkpoint=folder / "run")
    tiny_disk("size=8k")
    (folder / "full").write_bytes(bytes(8192))
    with pytest.raises(InputError, match="No space left"):
        SpikeSlabMRF(n_draws=5, n_warmup=0).fit(block_rows(), checkpoint=folder)


def test_one_process_at_a_time(finished: Path) -> None:
    with Checkpoint(finished).at_work(), pytest.raises(InputError, match="another process"):
        SpikeSlabMRF.from_checkpoint(finished)


# Real processes that are killed


SCRIPT = """
import sys
from slabfield import datasets
from slabfield.cli import main
from slabfield.chains import checkpoint
checkpoint.INTERVAL_SECONDS, checkpoint.MOST_SHARE = 0.02, 1e9
main()
"""


STARTED: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    while STARTED:
        process = STARTED.pop()
        process.kill()
        process.communicate()


def start(*arguments: Any, script: str = SCRIPT) -> subprocess.Popen[str]:
    """Start a process, and a group of processes with it."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | {"PYTHONPATH": str(SOURCES)},
    )  # fmt: skip
    STARTED.append(process)
    return process


@pytest.fixture
def csv_file(tmp_path: Path) -> Path:
    path = tmp_path / "block.csv"
    rows = block_rows()
    names = ",".join(f"x{i}" for i in range(rows.shape[1]))
    np.savetxt(path, rows, "%d", ",", header=names, comments="")
    return path


def options(seed: int = 5) -> list[Any]:
    return ["--chains", 2, "--warmup", 2_000, "--draws", 20_000, "--seed", seed, "--quiet"]


def wait_for(path: Path, process: subprocess.Popen[str], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.005)


def end_of(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a process; return its exit code and standard error."""
    _, errors = process.communicate(timeout=120)
    return process.returncode, errors


def test_killed_and_interrupted_runs_resume(csv_file: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    out = tmp_path / "out"
    run = start("fit", csv_file, "--out", out, *options(), "--jobs", 1)
    for kill in range(2):
        wait_for(out / "checkpoint" / "exact-0.npz", run)
        time.sleep(rng.uniform(0, 0.6))
        run.kill()
        run.communicate()
        (out / "posterior.nc").unlink(missing_ok=True)
        run = start("resume", out, "--quiet", "--jobs", 1 + kill % 2)
    whole = uninterrupted(20_000)
    code, errors = end_of(run)
    assert code == (0 if whole.converged else 1), errors
    assert_same(whole, load_posterior(out / "posterior.nc"))


def uninterrupted(n_draws: int) -> Posterior:
    parameters = {"n_chains": 2, "n_warmup": 2_000, "random_state": 5, "n_draws": n_draws}
    return SpikeSlabMRF(**parameters).fit(block_rows()).posterior_


def at_draws(folder: Path, run: subprocess.Popen[str], since: float = 0.0) -> None:
    """Wait until all chains have saved draws, since a time."""
    for chain in range(2):
        path = folder / f"exact-{chain}.npz"
        wait_for(path, run)
        while path.stat().st_mtime < since or "draws/bias" not in read_checked(path, "")[1]:
            assert run.poll() is None
            time.sleep(0.01)


@pytest.mark.slow  # two signals within a chunk: on a busy machine the second may come too late
def test_ctrl_c_once_and_twice(csv_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    long = [*options()[:4], "--draws", 400_000, *options()[6:]]
    run = start("fit", csv_file, "--out", out, *long)
    at_draws(out / "checkpoint", run)
    run.send_signal(signal.SIGINT)
    code, errors = end_of(run)
    assert code == 1
    assert "Ctrl-C ended the run" in errors
    assert f"slabfield resume {out}" in errors
    first = load_posterior(out / "posterior.nc")
    assert first.settings["stopped_by"] == "interrupt"

    now = time.time()
    run = start("resume", out, "--quiet")
    at_draws(out / "checkpoint", run, now)
    run.send_signal(signal.SIGINT)
    time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    code, errors = end_of(run)
    assert code == 130
    assert f"slabfield resume {out}" in errors
    for path in Checkpoint(out / "checkpoint").chain_files():
        read_checked(path, "")
    code, errors = end_of(start("fit", csv_file, "--out", out, *options()))
    assert code == 2
    assert "400000 there and 20000 here" in errors
    # chains that had too few draws when Ctrl-C came were left out, whichever they were
    whole = uninterrupted(first.draws.n_draws).draws.bias
    for chain in first.draws.bias:
        assert any(np.array_equal(chain, other) for other in whole)


IN_PROCESSES = """
import joblib, sys
import numpy as np
from slabfield import SpikeSlabMRF, datasets
from slabfield.chains import checkpoint
checkpoint.INTERVAL_SECONDS, checkpoint.MOST_SHARE = 0.02, 1e9
rows = datasets.make_block(60, random_state=0, n_groups=1).rows
model = SpikeSlabMRF(n_chains=2, n_warmup=2000, n_draws=400_000, random_state=5, n_jobs=2)
with joblib.parallel_config(backend="loky"):
    model.fit(rows, checkpoint=sys.argv[1])
np.save(sys.argv[1] + "/found.npy", model.posterior_.draws.bias)
"""


def children_of(process: subprocess.Popen[str]) -> list[int]:
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(child) for child in found.split()]


@NEEDS_LINUX
@pytest.mark.parametrize("how", ["Ctrl-C", "kill"])
def test_worker_processes_stop_and_end(how: str, tmp_path: Path) -> None:
    run = start(tmp_path, script=IN_PROCESSES)
    at_draws(tmp_path, run)
    workers = children_of(run)
    assert workers
    if how == "Ctrl-C":
        os.killpg(run.pid, signal.SIGINT)
        code, errors = end_of(run)
        assert code == 0, errors
        assert np.load(tmp_path / "found.npy").shape[1] > 0
    else:
        run.kill()
        run.communicate(timeout=30)
    end = time.monotonic() + 30
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < end
        time.sleep(0.1)
    for path in Checkpoint(tmp_path).chain_files():
        read_checked(path, "")
