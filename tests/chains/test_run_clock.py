"""The clock of a run stands still while code is compiled."""

import pickle
import time
from typing import Any

import numpy as np
import pytest

from slabfield import SpikeSlabMRF, datasets
from slabfield._jit import numba
from slabfield.chains import collapsed_warmup, run_clock
from slabfield.chains.dask_cluster import Timer
from slabfield.chains.run_clock import NEVER, Deadline, Stopwatch, compile_seconds

events: Any = numba.core.event


def compile_for(seconds: float) -> None:
    """Hold numba's compiler lock, as compilation does."""
    with numba.core.compiler_lock.global_compiler_lock:
        time.sleep(seconds)


def test_real_compilation_is_measured() -> None:
    before, clock = compile_seconds(), time.monotonic()
    numba.njit(lambda x: x + 1)(2)
    assert 0.0 < compile_seconds() - before <= time.monotonic() - clock


def test_compilation_does_not_count() -> None:
    stopwatch, deadline, timer = Stopwatch(elapsed=10.0), Deadline(0.25), Timer(0.25)
    compile_for(0.5)
    assert 10.0 <= stopwatch.elapsed() < 10.25
    assert 0.0 < deadline.left() <= 0.25
    assert not deadline.passed()
    timer.requested()  # the first chunk is always allowed
    assert not timer.requested()
    time.sleep(0.3)
    assert deadline.passed()
    assert timer.requested()
    assert stopwatch.elapsed() >= 10.3


def test_nested_and_simultaneous_compilation_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(run_clock.time, "monotonic", lambda: now[0])
    timer = run_clock._CompileTime()
    for change in (timer.on_start, timer.on_start, timer.on_end):
        change(None)
        now[0] += 1.0
    assert timer.seconds() == 3.0  # still under way
    timer.on_end(None)
    now[0] += 5.0
    assert timer.seconds() == 3.0


def test_a_copy_goes_on_from_the_same_time() -> None:
    compile_for(0.2)  # the offset of this process must not matter in another one
    stopwatch = Stopwatch(elapsed=5.0)
    copy = pickle.loads(pickle.dumps(stopwatch))
    assert copy.elapsed() == pytest.approx(stopwatch.elapsed(), abs=0.1)
    deadline = pickle.loads(pickle.dumps(Deadline(60.0, stopwatch)))
    assert deadline.left() == pytest.approx(55.0, abs=0.5)
    assert not pickle.loads(pickle.dumps(NEVER)).limited


def test_a_time_budget_is_for_warm_up_and_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the first fit after an installation, where compilation takes longer than the budget."""
    rows = np.asarray(datasets.make_block(60, n_groups=1, random_state=0).rows)
    parameters = {"n_draws": 10**6, "n_warmup": 5, "n_chains": 2, "n_jobs": 1, "random_state": 0}
    SpikeSlabMRF(**parameters | {"n_draws": 5}).fit(rows)  # loads the real code
    start = collapsed_warmup.start

    def slow_start(*arguments: Any) -> Any:
        compile_for(1.5)
        return start(*arguments)

    monkeypatch.setattr(collapsed_warmup, "start", slow_start)
    clock = time.monotonic()
    posterior = SpikeSlabMRF(**parameters, time_budget=1.0).fit(rows).posterior_
    assert time.monotonic() - clock >= 4.0  # two compilations, and the budget
    assert posterior.settings["stopped_by"] == "time"
    assert posterior.draws.n_draws > 20
    assert "warmed_up_for" not in posterior.info[1]
