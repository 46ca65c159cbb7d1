"""Speed of two kernels: Gibbs sweeps beside C, pair counts beside a matrix product."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from loops import repeat_sweep
from reference.gibbs_in_c import FLAGS, build, copy_of, random_field
from slabfield.kernels.pair_counts import count_all_pairs, n_words, pack
from timing import best_times, repeat, section, table, verdict

N_NODES = 100
LIMIT_OF_C, LEAST_GAIN = 1.0, 3.0
CHECK_SWEEPS = 20


def check_same(arrays, variants) -> None:
    """Fail unless all draw the same states and random numbers from the same start."""
    compiled = copy_of(arrays)
    repeat_sweep(*compiled, CHECK_SWEEPS)
    for name, sweeps in variants.items():
        in_c = copy_of(arrays)
        sweeps(in_c, CHECK_SWEEPS)
        if not all(np.array_equal(a, b) for a, b in zip(compiled, in_c, strict=True)):
            raise SystemExit(f"{name} in gibbs.c and kernels.gibbs.sweep draw different states.")


def gibbs(quick: bool) -> str:
    """Section on the Gibbs kernel."""
    title = "Gibbs kernel beside C"
    variants = build()
    if variants is None:
        return section(title, "Not measured: gcc was not found.")
    rows, n_rounds = [], 3 if quick else 40
    for n in (128, 1024):
        for degree in (4, 21):
            arrays = random_field(N_NODES, n, degree, seed=n + degree)
            check_same(arrays, variants)
            times = 20 if quick else 1_600_000 // (n * degree)
            actions = {"numba": lambda a=arrays, k=times: repeat_sweep(*a, k)}
            for name, sweeps in variants.items():
                actions[name] = lambda f=sweeps, a=arrays, k=times: f(a, k)
            best = best_times(actions, n_rounds)
            unit = 1e9 / (times * N_NODES * n)
            plain = best["numba"] / best["sweeps_plain"]
            tuned = best["numba"] / min(best[name] for name in variants)
            rows.append((
                n, degree, *(f"{best[name] * unit:.2f}" for name in actions), f"{plain:.2f}",
                verdict(plain <= LIMIT_OF_C), f"{tuned:.2f}", verdict(tuned <= LIMIT_OF_C),
            ))  # fmt: skip
    head = (
        "particles", "degree", "numba, ns", "C plain, ns", "C by one, ns", "C by four, ns",
        "numba / plain C", f"at most {LIMIT_OF_C:.1f}", "numba / fastest C",
        f"at most {LIMIT_OF_C:.1f}",
    )  # fmt: skip
    return section(
        title,
        f"Nanoseconds per site update of `kernels.gibbs.sweep` on {N_NODES} nodes, beside the same "
        f"loop in `gibbs.c`, built with `gcc {' '.join(FLAGS)}`: as one would write it (*plain*, "
        "with `restrict`), and tuned by hand around what gcc does with that, one neighbor a pass "
        "or four as the compiled Python has it. All work on the same arrays, in turns, "
        "and were first seen to draw identical states and random numbers in "
        f"{CHECK_SWEEPS} sweeps.",
        table(head, rows),
    )


def pair_counts(quick: bool) -> str:
    """Section on pair counts."""
    n, times, n_rounds = 128, 20 if quick else 400, 3 if quick else 40
    states = (np.random.default_rng(0).random((N_NODES, n)) < 0.5).astype(np.float32)
    turned = np.ascontiguousarray(states.T)
    product = np.empty((N_NODES, N_NODES), np.float32)
    packed = np.zeros((n_words(n), N_NODES), np.uint64)
    counts = np.zeros(N_NODES * (N_NODES - 1) // 2, np.int64)
    actions = {
        "pack": lambda: pack(states, packed),
        "count": lambda: count_all_pairs(packed, counts),
        # NumPy knows that the first is symmetric and computes half of it; the second is general
        "symmetric": lambda: np.matmul(states, states.T, out=product),
        "general": lambda: np.matmul(states, turned, out=product),
    }
    with threadpool_limits(1):
        for action in actions.values():
            action()
        if not np.array_equal(counts, product[np.triu_indices(N_NODES, 1)]):
            raise SystemExit("Pair counts and the matrix product disagree.")
        best = best_times({k: repeat(a, times) for k, a in actions.items()}, n_rounds)
    pack_us, count_us, *products_us = (best[name] / times * 1e6 for name in actions)
    gain, with_packing = (min(products_us) / t for t in (count_us, count_us + pack_us))
    rows = [
        ("count all pairs, from packed states", f"{count_us:.1f}", f"{gain:.1f}",
         verdict(gain >= LEAST_GAIN)),
        ("pack the states", f"{pack_us:.1f}", "", ""),
        ("pack and count", f"{count_us + pack_us:.1f}", f"{with_packing:.1f}", "not required"),
        ("matrix product with its transpose", f"{products_us[0]:.1f}", "", ""),
        ("matrix product with a transposed copy", f"{products_us[1]:.1f}", "", ""),
    ]  # fmt: skip
    head = ("", "microseconds", "times faster than product", f"at least {LEAST_GAIN:.0f}")
    return section(
        "Pair counts beside a matrix product",
        f"All {counts.size:,} pairs of {N_NODES} nodes in {n} particles: "
        "`kernels.counts.count_all_pairs` beside a float32 product of the same states in NumPy on "
        "one thread, the faster of two ways. Each includes its call from Python. In the sampler "
        "states are packed once an iteration.",
        table(head, rows),
    )
