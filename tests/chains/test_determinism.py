"""The same data, settings and seed give the same draws, whatever the memory layout and threads.

Compiled code could break this by sums whose order depends on the addresses of arrays: a compiler
that may reorder sums makes vector code for arrays that are apart and scalar code for arrays that
might overlap. So a chain is run with its arrays moved: packed tightly, in another order, at other
offsets. The draws must be equal bit for bit. Between processors only the posterior is the same.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pkgutil
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import slabfield
from level_runs import model_of
from level_tables import chain_codes
from slabfield import SpikeSlabMRF
from slabfield._jit import numba
from slabfield.chains import collapsed_chain
from slabfield.chains.chain_run import ChainRun
from slabfield.chains.row_sums import weighted_sums
from slabfield.configuration import (
    Settings,
    bayes_exact,
    default_exact,
    default_particles,
    paper,
    pseudo,
)
from slabfield.datasets import make_random
from slabfield.models.binary import BinaryPairwise
from slabfield.models.pairwise import log_linear
from slabfield.moves.imputation import new_missing_entries
from slabfield.priors import Prior
from slabfield.problem import Problem

N_ROWS = 60
SETTINGS: dict[str, Settings] = {
    "exact": replace(default_exact(), thin=1, n_warmup=10),
    "Bayes Exact": replace(bayes_exact(N_ROWS), n_warmup=10),
    "particles": replace(default_particles(), n_warmup=6, n_particles=96),
    "pseudo": replace(pseudo(), n_warmup=6),
    "paper": replace(paper(), thin=20, n_warmup=10),
    "paper, full": replace(paper(), thin=20, n_warmup=10, preconditioner="full"),
}
CASES = [
    (name, n_nodes)
    for name in SETTINGS
    for n_nodes in ((4, 12) if SETTINGS[name].engine == "exact" else (4, 30))
]
N_DRAWS = 8


def rows_of(n_nodes: int) -> np.ndarray:
    return make_random(
        N_ROWS, n_nodes=n_nodes, mean_degree=3, random_state=1, method="gibbs", n_sweeps=20
    ).rows


def problem_of(n_nodes: int) -> Problem:
    rows, model = rows_of(n_nodes), BinaryPairwise(n_nodes)
    return Problem(model, rows, model.sums(rows), Prior.standard(model.n_interactions))


# Levels of ordinal and, every third one, nominal nodes
LEVELS = (3, 5, 3, 2)


def level_kinds(n_nodes: int) -> list[tuple[str, int]]:
    levels = (LEVELS * n_nodes)[:n_nodes]
    return [("nominal" if i % 3 == 1 else "ordinal", n) for i, n in enumerate(levels)]


def level_rows_of(n_nodes: int) -> np.ndarray:
    return chain_codes([n for _, n in level_kinds(n_nodes)], N_ROWS, 1).astype(np.uint8)


def level_problem_of(n_nodes: int, settings: Settings) -> Problem:
    """Problem of nodes with levels, with missing entries in every tenth row."""
    rows, levels = level_rows_of(n_nodes), model_of(level_kinds(n_nodes))
    model = levels if settings.scheme == "collapsed" else log_linear(levels)
    missing = np.zeros(rows.shape, np.bool_)
    missing[::10, :2] = True
    prior = Prior.standard(model.n_interactions)
    entries = new_missing_entries(levels, rows, missing)
    return Problem(model, rows, model.sums(rows), prior, entries)


def silent(_: int) -> None:
    pass


def digest(record: Any) -> str:
    """Hash of all draws of a chain, to the last bit."""
    found = hashlib.sha256()
    for part in (record.edges.toarray(), record.indicators.toarray(), record.bias, record.hyper):
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()


def tightly(gap: int, backwards: bool) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a function that moves arrays into one buffer, ``gap`` bytes apart."""

    def move(arrays: dict[str, Any]) -> dict[str, Any]:
        names = sorted(arrays, reverse=backwards)
        size = sum(arrays[name].nbytes + gap + 16 for name in names) + 64
        memory, start, moved = np.zeros(size, np.uint8), 8, {}
        start += -memory.ctypes.data % 64
        for name in names:
            array = arrays[name]
            moved[name] = np.ndarray(
                array.shape, array.dtype, memory.data, start,
                order="C" if array.flags.c_contiguous else "F",
            )  # fmt: skip
            moved[name][...] = array
            start += -(-(array.nbytes + gap) // 8) * 8
        return moved

    return move


LAYOUTS = {
    "as NumPy has them": lambda arrays: {name: array.copy() for name, array in arrays.items()},
    "tightly": tightly(8, False),
    "tightly, backwards": tightly(0, True),
    "two cache lines apart": tightly(136, False),
}


def moved_draws(problem: Problem, settings: Settings, layout: str) -> str:
    """Hash of the draws of a chain whose arrays are moved into a layout after warm-up."""
    tree, arrays = ChainRun(problem, settings, 1, 0, silent).packed()
    data = {"rows": problem.rows, "bias": problem.sums.bias, "coupling": problem.sums.coupling}
    data = LAYOUTS[layout](data)
    sums = problem.sums._replace(bias=data["bias"], coupling=data["coupling"])
    problem = problem._replace(rows=data["rows"], sums=sums)
    run = ChainRun.from_state(problem, settings, None, (tree, LAYOUTS[layout](arrays)))
    with threadpool_limits(1, user_api="blas"):
        return digest(run.extend(N_DRAWS, silent).result().record)


@pytest.mark.parametrize(("name", "n_nodes"), CASES)
def test_draws_do_not_depend_on_addresses_of_arrays(name: str, n_nodes: int) -> None:
    problem, settings = problem_of(n_nodes), SETTINGS[name]
    found = {layout: moved_draws(problem, settings, layout) for layout in LAYOUTS}
    assert len(set(found.values())) == 1, found


LEVEL_CASES = [(name, 4) for name in SETTINGS] + [("particles", 26)]


@pytest.mark.parametrize(("name", "n_nodes"), LEVEL_CASES)
def test_draws_of_levels_do_not_depend_on_addresses_of_arrays(name: str, n_nodes: int) -> None:
    problem, settings = level_problem_of(n_nodes, SETTINGS[name]), SETTINGS[name]
    found = {layout: moved_draws(problem, settings, layout) for layout in LAYOUTS}
    assert len(set(found.values())) == 1, found


def test_draws_that_depend_on_addresses_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = collapsed_chain.collapsed

    def depends(engine: Any, sums: Any, prior: Any, starts: Any, state: Any, *rest: Any) -> Any:
        # changes the last bit of one number, depending on which array comes first in memory
        if state.bias.ctypes.data < state.coupling.ctypes.data:
            state.bias[0] = np.nextafter(state.bias[0], np.inf)
        return plain(engine, sums, prior, starts, state, *rest)

    monkeypatch.setattr(collapsed_chain, "collapsed", depends)
    problems = problem_of(4), level_problem_of(4, SETTINGS["exact"])
    for problem in problems:
        found = {moved_draws(problem, SETTINGS["exact"], layout) for layout in LAYOUTS}
        assert len(found) > 1


def compiled_functions() -> dict[str, Any]:
    """All compiled functions of the package."""
    found: dict[str, Any] = {}
    for module in pkgutil.walk_packages(slabfield.__path__, "slabfield."):
        if "__main__" not in module.name:
            names = vars(importlib.import_module(module.name)).items()
            found |= {f"{module.name}.{k}": f for k, f in names if hasattr(f, "targetoptions")}
    return found


def may_reorder(function: Any) -> bool:
    return bool(function.targetoptions.get("fastmath"))


def test_no_compiled_function_may_reorder_sums() -> None:
    """Reordered sums made draws depend on addresses, on processors with wide registers only."""
    functions = compiled_functions()
    assert len(functions) > 200
    assert not [name for name, function in functions.items() if may_reorder(function)]
    assert may_reorder(numba.njit(fastmath=True)(silent))


def estimator(likelihood: str, **others: Any) -> SpikeSlabMRF:
    parameters: dict[str, Any] = {
        "likelihood": likelihood, "n_chains": 2, "n_draws": N_DRAWS, "n_warmup": 6,
        "sampler": {"n_particles": 96}, "random_state": 1,
    }  # fmt: skip
    return SpikeSlabMRF(**parameters | others)


def fit_digest(rows: Any, likelihood: str, n_jobs: int, **others: Any) -> str:
    model = estimator(likelihood, n_jobs=n_jobs, **others)
    draws = model.fit(rows).posterior_.draws
    found = hashlib.sha256()
    for part in (draws.parameters.toarray(), draws.bias, draws.p0, draws.sigma0):
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()


def in_a_thread(action: Callable[[], str]) -> str:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(action()))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize(
    ("likelihood", "n_nodes"),
    [("exact", 4), ("particles", 4), ("particles", 30), ("pseudo", 4), ("pseudo", 30)],
)
def test_fits_are_the_same_in_every_thread(likelihood: str, n_nodes: int) -> None:
    found = digests_in_threads(rows_of(n_nodes), likelihood)
    assert len(set(found)) == 1, found


def digests_in_threads(rows: Any, likelihood: str, **others: Any) -> list[str]:
    """Hashes of the draws of a fit in this thread, in others, and with chains in two."""
    found = [fit_digest(rows, likelihood, 1, **others)]
    rng, kept = np.random.default_rng(0), []
    for _ in range(3):
        # so that the next arrays have other addresses
        kept += [np.zeros(int(size)) for size in rng.integers(1, 2_000, 50)]
        found.append(in_a_thread(lambda: fit_digest(rows, likelihood, 1, **others)))
        found.append(fit_digest(rows, likelihood, 2, **others))
        del kept[::3]
    return found


LEVEL_FITS = [("exact", 4), ("particles", 4), ("particles", 26), ("pseudo", 4)]


def level_table_of(n_nodes: int) -> Any:
    """Return a table with missing entries, and the kinds of its columns."""
    rows = level_rows_of(n_nodes).astype(float)
    rows[::10, :2] = np.nan
    kinds = {f"x{i}": kind for i, (kind, n) in enumerate(level_kinds(n_nodes)) if n > 2}
    return rows, {"na": "impute", "kinds": kinds}


@pytest.mark.parametrize(("likelihood", "n_nodes"), LEVEL_FITS)
def test_fits_of_levels_are_the_same_in_every_thread(likelihood: str, n_nodes: int) -> None:
    rows, stated = level_table_of(n_nodes)
    found = digests_in_threads(rows, likelihood, **stated)
    assert len(set(found)) == 1, found


@pytest.mark.parametrize(("likelihood", "n_nodes"), LEVEL_FITS)
def test_chains_of_levels_are_the_same_whatever_their_number(likelihood: str, n_nodes: int) -> None:
    rows, stated = level_table_of(n_nodes)
    few, more = (
        estimator(likelihood, n_chains=n_chains, **stated).fit(rows).posterior_.draws
        for n_chains in (1, 3)
    )
    assert np.array_equal(few.bias, more.bias[:1])
    assert (few.parameters != more.parameters[:N_DRAWS]).nnz == 0
    assert not np.array_equal(more.bias[0], more.bias[1])


# Calls of BLAS and LAPACK on which draws depend, besides the sums below: the quadratic surrogate of
# small fields (likelihood/quadratic_surrogate.py), the full preconditioner (moves/langevin.py), and
# variances of features in warm-up (likelihood/feature_moments.py). Each with one thread.


def symmetric(n: int) -> np.ndarray:
    values = np.random.default_rng(n).standard_normal((n, 2 * n))
    return values @ values.T / n


def root_of(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors / np.sqrt(values)) @ vectors.T


CALLS: dict[str, Callable[..., np.ndarray]] = {
    "inverse": np.linalg.inv,
    "Cholesky factor": np.linalg.cholesky,
    "product": lambda a: a[:, : len(a) // 2] @ a[: len(a) // 2, : len(a) // 2],
    "product with a transpose": lambda a: a[len(a) // 3 :] @ a.T,
    "product with a vector": lambda a: a @ a[0],
    "vector with a product": lambda a: a[0] @ a**2,
    "root": root_of,
}


@pytest.mark.parametrize("n", [5, 20, 78, 190])
@pytest.mark.parametrize("call", CALLS)
def test_linear_algebra_does_not_depend_on_addresses_of_arrays(call: str, n: int) -> None:
    matrix, found = symmetric(n), set()
    with threadpool_limits(1, user_api="blas"):
        for offset in range(0, 64, 8):
            memory = np.zeros(matrix.nbytes + 128, np.uint8)
            start = -memory.ctypes.data % 64 + offset
            moved = np.ndarray(matrix.shape, matrix.dtype, memory.data, start)
            moved[...] = matrix
            found.add(CALLS[call](moved).tobytes())
    assert len(found) == 1


def test_chains_have_one_thread_for_linear_algebra(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    plain = collapsed_chain.collapsed

    def watched(*arguments: Any) -> Any:
        pools = (pool for pool in threadpool_info() if pool["user_api"] == "blas")
        seen.extend(pool["num_threads"] for pool in pools)
        return plain(*arguments)

    monkeypatch.setattr(collapsed_chain, "collapsed", watched)
    fit_digest(rows_of(4), "exact", 2)
    assert seen
    assert set(seen) == {1}


def test_sums_of_weighted_rows_do_not_depend_on_threads() -> None:
    rows, weights = rows_of(30), np.random.default_rng(2).random(N_ROWS)
    model, found = BinaryPairwise(30), set()
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            found.add(weighted_sums(model, rows, weights).coupling.tobytes())
    assert len(found) == 1


SETTINGS_OF_MACHINES = {
    "one arena": {"MALLOC_ARENA_MAX": "1"},
    "memory that is not zero": {"MALLOC_PERTURB_": "165"},
    "any x86-64 processor": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "no AVX-512": {"NUMBA_CPU_FEATURES": "-avx512f"},
}


@pytest.mark.slow
@pytest.mark.parametrize("machine", SETTINGS_OF_MACHINES)
def test_draws_are_as_constant_in_other_settings(machine: str) -> None:
    here = Path(__file__)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", here],
        env=os.environ | SETTINGS_OF_MACHINES[machine], cwd=here.parents[2],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "passed" in done.stdout


@pytest.mark.slow
def test_draws_do_not_depend_on_how_memory_is_managed() -> None:
    code = (
        "import sys; sys.path[:0] = ['tests/chains', 'tests/support', 'benchmarks']\n"
        "from test_determinism import CASES, SETTINGS, digest, problem_of, silent\n"
        "from dataclasses import replace\n"
        "from slabfield.chains.chain_run import run_chain\n"
        "for name, n in CASES:\n"
        "    settings = replace(SETTINGS[name], n_draws=8)\n"
        "    print(digest(run_chain(problem_of(n), settings, 1, 0, silent).record))\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | more, cwd=Path(__file__).parents[2],
            capture_output=True, text=True, check=True,
        ).stdout
        for more in ({}, *list(SETTINGS_OF_MACHINES.values())[:2])
    }  # fmt: skip
    assert len(found) == 1
