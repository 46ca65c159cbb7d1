"""Speed ratios, each measured within seconds: short versions of what ``benchmarks/`` measures."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

RECORDED = Path(__file__).with_name("recorded.json")
# The random field of the kernel ratios
N_NODES, N_PARTICLES, DEGREE = 100, 1024, 4
# Repetitions per timing, of which the fastest counts
ROUNDS = 12
# The data set of the sampler ratios
SEED, N_ROWS = 1, 1_000


class Ratio(NamedTuple):
    """One comparison.

    Attributes
    ----------
    name : str
        Its key in the record.
    what : str
        A description of the comparison.
    more_is_better : bool
    measure : callable
        Returns the ratio, or None if it cannot be measured on this machine.
    """

    name: str
    what: str
    more_is_better: bool
    measure: Callable[[], float | None]


def measure_all() -> Iterator[tuple[Ratio, float | None]]:
    """Measure one ratio after the other.

    Examples
    --------
    >>> from slabfield.yardsticks import measure_all
    >>> callable(measure_all)
    True
    """
    for ratio in RATIOS:
        yield ratio, ratio.measure()


def read_recorded() -> dict[str, Any]:
    """Return the recorded ratios by name, and the machine they were measured on.

    Examples
    --------
    >>> from slabfield.yardsticks import RATIOS, read_recorded
    >>> set(read_recorded()["ratios"]) == {ratio.name for ratio in RATIOS}
    True
    """
    found: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def best_times(actions: Mapping[str, Callable[[], object]], n_rounds: int) -> dict[str, float]:
    """CPU seconds of every action: the minimum over ``n_rounds``, with the actions interleaved.

    Examples
    --------
    >>> from slabfield.yardsticks.measure import best_times
    >>> list(best_times({"nothing": lambda: None}, n_rounds=2))
    ['nothing']
    """
    best = dict.fromkeys(actions, float("inf"))
    for _ in range(n_rounds):
        for name, action in actions.items():
            start = time.process_time()
            action()
            best[name] = min(best[name], time.process_time() - start)
    return best


def gibbs_beside_c(n_sweeps: int = 100) -> float | None:
    """Time of a Gibbs sweep relative to the same loop in C; None without gcc."""
    from slabfield.kernels.gibbs import sweep
    from slabfield.yardsticks.gibbs_in_c import build, random_field

    variants = build()
    if variants is None:
        return None
    arrays = random_field(N_NODES, N_PARTICLES, DEGREE, seed=SEED)
    sweep(*arrays)

    def compiled() -> None:
        for _ in range(n_sweeps):
            sweep(*arrays)

    in_c = variants["sweeps_plain"]
    best = best_times({"numba": compiled, "C": lambda: in_c(arrays, n_sweeps)}, ROUNDS)
    return best["numba"] / best["C"]


def pairs_beside_product(times: int = 400) -> float:
    """Speed of counting all pairs of nodes relative to a matrix product."""
    from threadpoolctl import threadpool_limits

    from slabfield.kernels.pair_counts import count_all_pairs, n_words, pack

    n = 128
    states = (np.random.default_rng(0).random((N_NODES, n)) < 0.5).astype(np.float32)
    transposed, product = np.ascontiguousarray(states.T), np.empty((N_NODES, N_NODES), np.float32)
    packed = np.zeros((n_words(n), N_NODES), np.uint64)
    counts = np.zeros(N_NODES * (N_NODES - 1) // 2, np.int64)
    pack(states, packed)

    def repeated(action: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(times):
                action()

        return run

    actions = {
        "count": repeated(lambda: count_all_pairs(packed, counts)),
        "symmetric": repeated(lambda: np.matmul(states, states.T, out=product)),
        "general": repeated(lambda: np.matmul(states, transposed, out=product)),
    }
    with threadpool_limits(1):
        count_all_pairs(packed, counts)
        best = best_times(actions, ROUNDS)
    return min(best["symmetric"], best["general"]) / best["count"]


def effective_draws(present: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Effective sample size of every indicator; zero for one that never changes."""
    from slabfield.posterior.diagnostics import array_stats

    effective = np.zeros(present.shape[1])
    moving = np.ptp(present.astype(np.int8), axis=0) > 0
    draws = present[None, :, moving].astype(np.float64)
    effective[moving] = array_stats().ess(draws, chain_axis=0, draw_axis=1, method="mean")
    return effective


def block_problem() -> Any:
    """Return the problem on which all samplers are compared: 12 nodes in three groups."""
    from slabfield.datasets import make_block
    from slabfield.models.binary import BinaryPairwise
    from slabfield.priors import Prior
    from slabfield.problem import Problem

    data = make_block(N_ROWS, random_state=SEED)
    model = BinaryPairwise(data.field.n_nodes)
    prior = Prior.standard(model.n_interactions)
    return Problem(model, data.rows, model.sums(data.rows), prior)


@cache
def plain_rate(n_draws: int = 6_000) -> float:
    """Effective draws of the median edge per CPU second, in plain loops."""
    from slabfield.yardsticks.plain_collapsed import run_plain

    present, cpu = run_plain(block_problem(), n_draws, 100, seed=SEED)
    return float(np.median(effective_draws(present)) / cpu)


def sampler_beside_plain(engine: str, n_draws: int = 4_000) -> float:
    """Effective draws per CPU second of a sampler relative to plain loops."""
    from slabfield.chains.chain_run import chain_rng
    from slabfield.chains.collapsed_warmup import start_collapsed, warm_up_collapsed
    from slabfield.configuration import gold_standard, pseudo
    from slabfield.moves.iteration import new_record

    base = {"exact": gold_standard, "pseudo": pseudo}[engine]()
    problem = block_problem()
    start = start_collapsed(problem, replace(base, thin=1), chain_rng(SEED, 0))
    chain = warm_up_collapsed(start, lambda _: None)
    model = problem.model
    record = new_record(n_draws, model.n_biases, *[model.n_interactions] * 2)
    clock = time.process_time()
    chain.iterate(record, 0, n_draws, 1)
    cpu = time.process_time() - clock  # before effective draws are computed, which is slow
    return float(np.median(effective_draws(record.present)) / cpu) / plain_rate()


RELATIVE_TO_PLAIN = "effective draws per CPU s relative to plain loops"
RATIOS = (
    Ratio(
        "gibbs_beside_c", "Gibbs sweep: time relative to the same loop in C", False,
        gibbs_beside_c,
    ),
    Ratio(
        "pairs_beside_product", "Pair counts: speed relative to a matrix product in NumPy", True,
        pairs_beside_product,
    ),
    Ratio(
        "exact_beside_plain", f"Exact sampler: {RELATIVE_TO_PLAIN}", True,
        lambda: sampler_beside_plain("exact"),
    ),
    Ratio(
        "pseudo_beside_plain", f"Pseudo sampler: {RELATIVE_TO_PLAIN}", True,
        lambda: sampler_beside_plain("pseudo"),
    ),
)  # fmt: skip
