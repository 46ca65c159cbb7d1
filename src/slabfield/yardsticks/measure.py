"""The ratios, each measured in seconds: short forms of what ``benchmarks/`` measures at length."""

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
N_NODES, N_PARTICLES, DEGREE = 100, 1024, 4
ROUNDS = 12
SEED, N_ROWS = 1, 1_000


class Ratio(NamedTuple):
    """One comparison.

    Attributes
    ----------
    name : str
        What it is called in the record.
    what : str
        What is compared, in words.
    more_is_better : bool
    measure : callable
        Returns the ratio, or None where it cannot be measured here.
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
    """Return what was recorded: the ratios by name, and what they were measured on.

    Examples
    --------
    >>> from slabfield.yardsticks import RATIOS, read_recorded
    >>> set(read_recorded()["ratios"]) == {ratio.name for ratio in RATIOS}
    True
    """
    found: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def best_times(actions: Mapping[str, Callable[[], object]], n_rounds: int) -> dict[str, float]:
    """CPU seconds of every action: the least of ``n_rounds``, the actions taking turns.

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
    """Time of a Gibbs sweep beside that of the same loop in C; None without gcc."""
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
    """How many times faster counting all pairs of nodes is than a matrix product."""
    from threadpoolctl import threadpool_limits

    from slabfield.kernels.counts import count_all_pairs, n_words, pack

    n = 128
    states = (np.random.default_rng(0).random((N_NODES, n)) < 0.5).astype(np.float32)
    turned, product = np.ascontiguousarray(states.T), np.empty((N_NODES, N_NODES), np.float32)
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
        "general": repeated(lambda: np.matmul(states, turned, out=product)),
    }
    with threadpool_limits(1):
        count_all_pairs(packed, counts)
        best = best_times(actions, ROUNDS)
    return min(best["symmetric"], best["general"]) / best["count"]


def effective_draws(present: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Effective draws of every indicator; one that never changes has shown nothing and counts 0."""
    from slabfield.posterior.convergence import array_stats

    found = np.zeros(present.shape[1])
    moving = np.ptp(present.astype(np.int8), axis=0) > 0
    draws = present[None, :, moving].astype(np.float64)
    found[moving] = array_stats().ess(draws, chain_axis=0, draw_axis=1, method="mean")
    return found


def block_problem() -> Any:
    """Return what all samplers are compared on: 12 nodes in three groups."""
    from slabfield.datasets import make_block
    from slabfield.models.binary import BinaryPairwise
    from slabfield.priors import Prior
    from slabfield.sampler.warmup import Problem

    data = make_block(N_ROWS, random_state=SEED)
    model = BinaryPairwise(data.field.n_nodes)
    prior = Prior.standard(model.n_interactions)
    return Problem(model, data.rows, model.sums(data.rows), prior)


@cache
def plain_rate(n_draws: int = 6_000) -> float:
    """Effective draws of the median edge per CPU second, in plain loops."""
    from slabfield.yardsticks.plain_collapsed import run_plain

    seen, cpu = run_plain(block_problem(), n_draws, 100, seed=SEED)
    return float(np.median(effective_draws(seen)) / cpu)


def sampler_beside_plain(engine: str, n_draws: int = 4_000) -> float:
    """Effective draws per CPU second of a sampler beside those of plain loops."""
    from slabfield.sampler.collapsed import start_collapsed, warm_up_collapsed
    from slabfield.sampler.iteration import new_record
    from slabfield.sampler.run import chain_rng
    from slabfield.sampler.settings import gold_standard, pseudo

    base = {"exact": gold_standard, "pseudo": pseudo}[engine]()
    problem = block_problem()
    start = start_collapsed(problem, replace(base, thin=1), chain_rng(SEED, 0))
    chain = warm_up_collapsed(start, lambda _: None)
    model = problem.model
    record = new_record(n_draws, model.n_biases, *[model.n_interactions] * 2)
    clock = time.process_time()
    chain.iterate(record, 0, n_draws, 1)
    cpu = time.process_time() - clock  # before effective draws are counted, which takes long
    return float(np.median(effective_draws(record.present)) / cpu) / plain_rate()


BESIDE_PLAIN = "effective draws per CPU s, beside plain loops"
RATIOS = (
    Ratio("gibbs_beside_c", "Gibbs sweep: time, beside the same loop in C", False, gibbs_beside_c),
    Ratio(
        "pairs_beside_product", "Pair counts: speed, beside a matrix product in NumPy", True,
        pairs_beside_product,
    ),
    Ratio(
        "exact_beside_plain", f"Exact sampler: {BESIDE_PLAIN}", True,
        lambda: sampler_beside_plain("exact"),
    ),
    Ratio(
        "pseudo_beside_plain", f"Pseudo sampler: {BESIDE_PLAIN}", True,
        lambda: sampler_beside_plain("pseudo"),
    ),
)  # fmt: skip
