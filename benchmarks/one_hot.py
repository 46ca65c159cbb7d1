"""One-hot codes of categories under every engine: writes docs/one-hot.md. Run by ``make one-hot``.

Columns that exclude or imply each other leave couplings about which no row is informative: only the
slab bounds them, and particles carry no information about states that none of them shows.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from degenerate_tables import Rows, one_hot
from timing import setting, table

DOCS = Path(__file__).parents[1] / "docs"
SIZES, SEEDS = (30, 60, 120), range(1, 11)
ENGINES = ("particles", "pseudo", "paper")
SMALL_SEEDS = (1, 2)
# Draws of each chain beside exact sums, by the number of columns
N_DRAWS = {12: 9000, 16: 9000, 20: 3000}
N_CHAINS = 4
FIXED_SLABS = (8.0, 25.0)
HEAD = """# One-hot codes

Made by `make one-hot` (`benchmarks/one_hot.py`). Each table has one-hot codes of categories of 3 to
12 levels in 1,000 rows. The levels depend on a latent class of four, and about half of the
categories have levels that imply a level of the next category. Many pairs of columns therefore
exclude or imply each other, and the data do not say how strongly: only the slab bounds those
couplings.

## Finite draws

One chain for each of ten tables, 40 warm-up draws and 20 kept. (Without the bounded updates, chains
of this length ended in NaN or in couplings of several hundred.) "largest" is the largest absolute
coupling of any draw, and "in slabs" the same in slab standard deviations of its draw; the largest
of a thousand normal numbers is about 3.5.

"""
SMALL_HEAD = f"""

## Against exact sums

{N_CHAINS} chains of 9,000 draws each (3,000 with 20 columns), after a third as many of warm-up: on
particles, couplings that only the slab bounds move by at most six per update and need some hundred
draws to leave their starting values. "difference" is the root mean square over pairs of the
difference in inclusion probability between `particles` and `exact`; "expected" is the difference
that the Monte Carlo errors of both predict, estimated from differences between chains. "mean size"
averages absolute couplings over all pairs and draws, "largest" averages the largest of each draw;
both with standard errors. The last columns are the effective draws of sigma0 over all chains, with
R-hat. "as large" is the difference where small fields are sampled by the scheme for more than 24
columns (scheduled blocks, unweighted particles), which has no exact answer to be compared with at
its own sizes.

Where sigma0 is learned, its prior bounds it at 5.44 (equation 7 of [the mathematics](maths.md)).
Without the bound, couplings, biases and sigma0 grow together over a cone in which the likelihood is
flat: neither engine converged (7 to 17 effective draws of sigma0), and their largest couplings
differed, 80 against 47 on the first table.

With a slab of 25 the couplings that only the slab bounds are too small on particles ("mean size"):
hardly any particle shows the states that these couplings exclude.

"""


def fit(rows: Rows, engine: str, seed: int, **given: Any) -> tuple[Any, float]:
    """Return the draws of a fit, and the CPU seconds it took."""
    from slabfield import SpikeSlabMRF

    chosen = {"preset": "paper"} if engine == "paper" else {"likelihood": engine}
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SpikeSlabMRF(**chosen, random_state=seed, n_jobs=1, **given).fit(rows)
    return model.posterior_.draws, time.process_time() - start


@contextmanager
def as_large_fields() -> Iterator[None]:
    """Sample small fields by the scheme for more than 24 nodes."""
    from slabfield.adaptation import block_schedule
    from slabfield.chains import particle_chain

    modules = (particle_chain, block_schedule)
    before = [module.FULL_NODES for module in modules]
    for module in modules:
        module.FULL_NODES = 8
    yield
    for module, value in zip(modules, before, strict=True):
        module.FULL_NODES = value


def is_finite(draws: Any) -> bool:
    """Whether all draws are finite."""
    parts = (draws.bias, draws.values.data, draws.sigma0, draws.p0)
    return all(bool(np.isfinite(part).all()) for part in parts)


def sizes_of(draws: Any) -> NDArray[np.float64]:
    """Absolute couplings, (chains, draws, pairs)."""
    return np.abs(np.asarray(draws.coupling)).reshape(draws.n_chains, draws.n_draws, -1)


def finite_rows() -> list[list[str]]:
    """Fit ten tables of each size by each engine."""
    found = []
    for n_nodes in SIZES:
        for engine in ENGINES:
            n_finite, largest, in_slabs, seconds = 0, 0.0, 0.0, 0.0
            for seed in SEEDS:
                draws, spent = fit(
                    one_hot(seed, n_nodes), engine, seed, n_chains=1, n_warmup=40, n_draws=20
                )
                most = sizes_of(draws).max(axis=-1)
                n_finite += is_finite(draws)
                largest = max(largest, float(most.max()))
                in_slabs = max(in_slabs, float((most / draws.sigma0).max()))
                seconds += spent
            row = [n_nodes, engine, f"{n_finite} of {len(SEEDS)}", f"{largest:.0f}"]
            row += [f"{in_slabs:.1f}", f"{seconds / len(SEEDS):.1f}"]
            found.append([str(cell) for cell in row])
            print(found[-1], flush=True)
    return found


def with_error(by_draw: NDArray[np.float64]) -> str:
    """Mean and its standard error, from the means of chains."""
    means = by_draw.mean(axis=1)
    return f"{means.mean():.2f} ± {means.std(ddof=1) / np.sqrt(means.size):.2f}"


def effective_draws(values: NDArray[np.float64]) -> str:
    """Effective draws of all chains, and R-hat."""
    from slabfield.posterior.convergence import rhat_and_ess

    rhat, ess = rhat_and_ess(values[:, :, None])
    return f"{ess[0]:.0f} ({rhat[0]:.2f})"


def against_exact(n_nodes: int, seed: int, slab: Any, n_draws: int) -> list[str]:
    """Compare particles with exact sums on one table."""
    rows = one_hot(seed, n_nodes)
    common: dict[str, Any] = {"n_chains": N_CHAINS, "slab_prior": slab}
    length = {"n_draws": n_draws, "n_warmup": n_draws // 3}
    exact, _ = fit(rows, "exact", seed, **length, **common)
    drawn, _ = fit(rows, "particles", seed, **length, **common)
    with as_large_fields():
        large, _ = fit(rows, "particles", seed, n_draws=1000, n_warmup=200, **common)
    sizes = [sizes_of(draws) for draws in (exact, drawn)]
    by_chain = [(size > 0).mean(axis=1) for size in (*sizes, sizes_of(large))]
    variance = sum(means.var(axis=0, ddof=1) for means in by_chain[:2]) / N_CHAINS
    difference, as_large = (
        float(np.sqrt(np.mean((means - by_chain[0]).mean(axis=0) ** 2))) for means in by_chain[1:]
    )
    learned = isinstance(slab, tuple)
    effective = [effective_draws(draws.sigma0) if learned else "" for draws in (exact, drawn)]
    return [
        str(rows.shape[1]),
        str(seed),
        "learned" if learned else f"{slab:g}",
        f"{difference:.4f}",
        f"{np.sqrt(np.mean(variance)):.4f}",
        f"{as_large:.3f}",
        *(with_error(size.mean(axis=-1)) for size in sizes),
        *(with_error(size.max(axis=-1)) for size in sizes),
        *effective,
    ]


def exact_rows() -> list[list[str]]:
    """Compare all small tables; those of 20 columns, which take long, with two slabs."""
    found = []
    for n_nodes, n_draws in N_DRAWS.items():
        for seed in SMALL_SEEDS:
            for slab in ((5, 5), *FIXED_SLABS) if n_nodes < 20 else ((5, 5), FIXED_SLABS[0]):
                found.append(against_exact(n_nodes, seed, slab, n_draws))
                print(found[-1], flush=True)
    return found


def kept(part: str, make: Callable[[], list[list[str]]], cache: Path) -> list[list[str]]:
    """Return the rows of a part, cached on disk."""
    path = cache / f"{part}.json"
    if not path.exists():
        rows = make()
        cache.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(rows), encoding="utf-8")
    found: list[list[str]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path(".cache/one-hot"))
    parser.add_argument(
        "--only", choices=["finite", "exact"], help="run one part only, without writing the page"
    )
    asked = parser.parse_args()
    parts = {"finite": finite_rows, "exact": exact_rows}
    chosen = [asked.only] if asked.only else list(parts)
    rows = {part: kept(part, parts[part], asked.cache) for part in chosen}
    if asked.only:
        return
    head = ("columns", "engine", "finite", "largest", "in slabs", "CPU s")
    text = HEAD + table(head, rows["finite"]) + SMALL_HEAD
    head = (
        "columns", "table", "sigma0", "difference", "expected", "as large",
        "mean size, exact", "particles", "largest, exact", "particles",
        "sigma0, exact", "particles",
    )  # fmt: skip
    text += table(head, rows["exact"]) + "\n\n" + setting() + "\n"
    (DOCS / "one-hot.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
