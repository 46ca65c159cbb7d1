"""Speed ratios, each measured within seconds: short versions of what the other files measure.

Times differ between machines, ratios hardly do: one far from the record (``ratios.json``) means
that compiled code runs slower than it should. ``make bench`` records them, each as the median of
three; ``python benchmarks/ratios.py`` measures them once and prints them beside the record.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from draw_speed import effective_draws
from reference.gibbs_in_c import build, random_field
from reference.plain_collapsed import run_plain
from slabfield.chains.chain_run import chain_rng
from slabfield.chains.collapsed_warmup import start_collapsed, warm_up_collapsed
from slabfield.configuration import default_exact, pseudo
from slabfield.datasets import make_block
from slabfield.kernels.gibbs import sweep
from slabfield.kernels.pair_counts import count_all_pairs, n_words, pack
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.iteration import new_record
from slabfield.priors import Prior
from slabfield.problem import Problem
from timing import best_times, repeat, setting, table

RECORDED = Path(__file__).with_suffix(".json")
# Measurements per recorded ratio, of which the median counts
N_RUNS = 3
# The random field of the kernel ratios
N_NODES, N_PARTICLES, DEGREE = 100, 1024, 4
# Repetitions per timing, of which the fastest counts
ROUNDS = 12
# The data set of the sampler ratios
SEED, N_ROWS = 1, 1_000


class Ratio(NamedTuple):
    """One comparison; ``measure`` returns None if it cannot be made on this machine."""

    name: str
    what: str
    more_is_better: bool
    measure: Callable[[], float | None]


def gibbs_beside_c(n_sweeps: int = 100) -> float | None:
    """Time of a Gibbs sweep relative to the same loop in C; None without gcc."""
    variants = build()
    if variants is None:
        return None
    arrays = random_field(N_NODES, N_PARTICLES, DEGREE, seed=SEED)
    sweep(*arrays)
    in_c = variants["sweeps_plain"]
    actions = {
        "numba": repeat(lambda: sweep(*arrays), n_sweeps),
        "C": lambda: in_c(arrays, n_sweeps),
    }
    best = best_times(actions, ROUNDS)
    return best["numba"] / best["C"]


def pairs_beside_product(times: int = 400) -> float:
    """Speed of counting all pairs of nodes relative to a matrix product."""
    n = 128
    states = (np.random.default_rng(0).random((N_NODES, n)) < 0.5).astype(np.float32)
    transposed, product = np.ascontiguousarray(states.T), np.empty((N_NODES, N_NODES), np.float32)
    packed = np.zeros((n_words(n), N_NODES), np.uint64)
    counts = np.zeros(N_NODES * (N_NODES - 1) // 2, np.int64)
    pack(states, packed)
    actions = {
        "count": repeat(lambda: count_all_pairs(packed, counts), times),
        "symmetric": repeat(lambda: np.matmul(states, states.T, out=product), times),
        "general": repeat(lambda: np.matmul(states, transposed, out=product), times),
    }
    with threadpool_limits(1):
        count_all_pairs(packed, counts)
        best = best_times(actions, ROUNDS)
    return min(best["symmetric"], best["general"]) / best["count"]


def block_problem() -> Problem:
    """Return the problem on which all samplers are compared: 12 nodes in three groups."""
    data = make_block(N_ROWS, random_state=SEED)
    model = BinaryPairwise(data.field.n_nodes)
    prior = Prior.standard(model.n_interactions)
    return Problem(model, data.rows, model.sums(data.rows), prior)


@cache
def plain_rate(n_draws: int = 6_000) -> float:
    """Effective draws of the median edge per CPU second, in plain loops."""
    present, cpu = run_plain(block_problem(), n_draws, 100, seed=SEED)
    return float(np.median(effective_draws(present)) / cpu)


def sampler_beside_plain(engine: str, n_draws: int = 4_000) -> float:
    """Effective draws per CPU second of a sampler relative to plain loops."""
    base = {"exact": default_exact, "pseudo": pseudo}[engine]()
    problem = block_problem()
    start = start_collapsed(problem, replace(base, thin=1), chain_rng(SEED, 0))
    chain = warm_up_collapsed(start, lambda _: None)
    model = problem.model
    draws = new_record(n_draws, model.n_biases, *[model.n_interactions] * 2)
    clock = time.process_time()
    chain.iterate(draws, 0, n_draws, 1)
    cpu = time.process_time() - clock  # before effective draws are computed, which is slow
    return float(np.median(effective_draws(draws.present)) / cpu) / plain_rate()


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


def record() -> None:
    """Write ``ratios.json``."""
    found: dict[str, list[float]] = {ratio.name: [] for ratio in RATIOS}
    for _ in range(N_RUNS):
        plain_rate.cache_clear()
        for ratio in RATIOS:
            value = ratio.measure()
            if value is None:
                raise SystemExit(f"{ratio.name} cannot be measured here: gcc was not found.")
            found[ratio.name].append(value)
    ratios = {name: float(f"{statistics.median(values):.3g}") for name, values in found.items()}
    facts = {"made_by": "benchmarks/ratios.py", "setting": setting(), "ratios": ratios}
    RECORDED.write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def beside_record() -> str:
    """Measure every ratio once; return a table of them beside the recorded ones."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    rows = []
    for ratio in RATIOS:
        value = ratio.measure()
        rows.append((
            ratio.what,
            "gcc not found" if value is None else f"{value:.3g}",
            f"{recorded['ratios'][ratio.name]:.3g}",
            "more" if ratio.more_is_better else "less",
        ))  # fmt: skip
    head = ("ratio", "this machine", "recorded", "better is")
    return f"{table(head, rows)}\n\nRecorded on: {recorded['setting']}"


if __name__ == "__main__":
    print(beside_record())
