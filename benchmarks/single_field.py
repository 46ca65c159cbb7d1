"""How well the single field predicts, beside L1 of the nearest density and the mixture of draws.

Run by ``make single-field``; writes docs/single-field.md. MNIST is in the folder that
SLABFIELD_DATA names. Each data set is one piece, kept on disk when it is done.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from slabfield import SpikeSlabMRF
from slabfield.baselines import L1PseudoLikelihood
from slabfield.evaluate import (
    conditional_log_likelihood,
    edge_density,
    pseudo_log_likelihood,
)
from slabfield.models.field import BinaryField
from slabfield.posterior import Posterior
from slabfield.reproduce.data_sets import DataSet, open_data_set
from timing import kept, sampler_version, setting, table, verdict

N_ROWS, N_TEST = 100, 10_000
N_FIELDS, N_STRENGTHS = 100, 40
HALF = 0.5
"""Share of the plain average's distance to the mixture that may be left."""

MIXTURE, SINGLE, AVERAGE, L1 = "mixture of draws", "single field", "plain average", "L1"
SCORES = ("pll", "cll")
PAIRS = {"lead": (SINGLE, L1), "distance": (MIXTURE, SINGLE), "average": (MIXTURE, AVERAGE)}
"""Differences that are reported: of the first less the second, on the same rows."""


class World(NamedTuple):
    """A kind of data sets: how many of them, and how the sampler is run."""

    kind: str
    title: str
    n_sets: int
    sampler: dict[str, int]
    group: str
    halves: bool = False
    """Whether the distance to the mixture is to be halved."""


WORLDS = (
    World("block", "Block worlds of 12 nodes", 5, {}, "all nodes"),
    World("lattice", "Lattices of 10 x 10", 3, {"n_draws": 200, "n_warmup": 80}, "3 x 3"),
    World("mnist", "MNIST patches", 2, {"n_draws": 60, "n_warmup": 60}, "3 x 3", halves=True),
)


def fit(world: World, rows: Any) -> SpikeSlabMRF:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are few draws: the page says how many
        return SpikeSlabMRF(random_state=1, n_jobs=1, **world.sampler).fit(rows)


def plain_average(posterior: Posterior, field: BinaryField) -> BinaryField:
    """The means of couplings given presence, of the edges of a field, and of biases."""
    mean = np.nan_to_num(posterior.coupling_given_presence)
    return BinaryField(posterior.bias_mean, np.where(field.coupling != 0, mean, 0.0))


def nearest_density(rows: Any, density: float) -> BinaryField:
    """The field of the L1 path whose density is nearest; of several, the least shrunken."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pixels at the edge of images are constant
        path = L1PseudoLikelihood(n_strengths=N_STRENGTHS, n_jobs=1).path(rows)
    gaps = np.abs(path.density - density)
    return path.field(int(np.flatnonzero(gaps == gaps.min())[-1]))


def learned(world: World, seed: int) -> dict:
    """Fit a data set, and score all ways to predict on its test rows."""
    data = open_data_set(DataSet(world.kind, seed, N_ROWS, N_TEST))
    model = fit(world, data.train)
    posterior, single = model.posterior_, model.field_
    ways = {
        MIXTURE: posterior.fields(N_FIELDS),
        SINGLE: single,
        AVERAGE: plain_average(posterior, single),
        L1: nearest_density(data.train, edge_density(single)),
    }
    of_rows = {
        "pll": {way: pseudo_log_likelihood(found, data.test) for way, found in ways.items()},
        "cll": {
            way: conditional_log_likelihood(found, data.test, data.groups)
            for way, found in ways.items()
        },
    }
    return {
        "scores": {
            score: {way: float(values.mean()) for way, values in by_way.items()}
            for score, by_way in of_rows.items()
        },
        "gaps": {
            name: {score: with_error(by[one] - by[other]) for score, by in of_rows.items()}
            for name, (one, other) in PAIRS.items()
        },
        "densities": {
            MIXTURE: float(posterior.density.mean()),
            **{way: edge_density(ways[way]) for way in (SINGLE, AVERAGE, L1)},
        },
        "engine": posterior.settings["engine"],
        "converged": bool(posterior.converged),
        "draws": posterior.draws.n_draws,
    }


def with_error(gaps: np.ndarray) -> tuple[float, float]:
    """Mean of the differences of rows, and its standard error."""
    return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(gaps.size))


def over_sets(sets: Sequence[dict], name: str, score: str) -> tuple[float, float]:
    """Mean over data sets of a difference, and its standard error over test rows."""
    means, errors = np.transpose([found["gaps"][name][score] for found in sets])
    return float(means.mean()), float(np.sqrt((errors**2).sum()) / errors.size)


def not_below(lead: tuple[float, float]) -> bool:
    """Whether a difference is not below 0 by more than its standard error."""
    return lead[0] >= -lead[1]


def of_ways(world: World, sets: Sequence[dict]) -> str:
    """Means over the data sets of what the ways score."""
    rows = [
        (way, *(f"{np.mean([found['scores'][score][way] for found in sets]):.3f}"
                for score in SCORES),
         f"{np.mean([found['densities'][way] for found in sets]):.3f}")
        for way in (MIXTURE, SINGLE, AVERAGE, L1)
    ]  # fmt: skip
    return table(("predicts by", "test PLL", f"CLL, {world.group}", "density"), rows)


def beside_l1(sets: Sequence[dict]) -> str:
    """The single field less L1 of the nearest density: each data set, and their mean."""
    rows = []
    for seed, found in enumerate(sets, 1):
        leads = [found["gaps"]["lead"][score] for score in SCORES]
        shares = (f"{found['densities'][way]:.3f}" for way in (SINGLE, L1))
        rows.append((seed, *shares, *(part for lead in leads for part in judged(lead))))
    both = [over_sets(sets, "lead", score) for score in SCORES]
    rows.append(("mean", "", "", *(part for lead in both for part in judged(lead))))
    head = ("seed", "density", "density of L1", "PLL, single less L1", "not below",
            "CLL, single less L1", "not below")  # fmt: skip
    return table(head, rows)


def judged(lead: tuple[float, float]) -> tuple[str, str]:
    return "{:+.3f} ± {:.3f}".format(*lead), verdict(not_below(lead))


def to_mixture(world: World, sets: Sequence[dict]) -> str:
    """How far the single field and the plain average are from the mixture."""
    lines = []
    for score in SCORES:
        distance = over_sets(sets, "distance", score)
        average = over_sets(sets, "average", score)
        line = (
            f"- {score.upper()}, mixture less single field {{:.3f}} ± {{:.3f}}, mixture less plain "
            "average {:.3f} ± {:.3f}"
        ).format(*distance, *average)
        if world.halves:
            line += f" (at least halved: {verdict(distance[0] <= HALF * average[0])})"
        lines.append(line + ".")
    return "\n".join(lines)


def how_run(world: World, sets: Sequence[dict]) -> str:
    draws = sorted({found["draws"] for found in sets})
    engines = " and ".join(sorted({found["engine"] for found in sets}))
    shown = f"{draws[0]:,}" if len(draws) == 1 else f"{draws[0]:,} to {draws[-1]:,}"
    return (
        f"{len(sets)} data sets, engine `{engines}`, four chains of {shown} draws, converged on "
        f"{sum(found['converged'] for found in sets)} of them."
    )


def section(world: World, sets: Sequence[dict]) -> str:
    parts = (
        f"## {world.title}", how_run(world, sets), of_ways(world, sets), beside_l1(sets),
        to_mixture(world, sets),
    )  # fmt: skip
    return "\n\n".join(parts) + "\n"


def summary(found: Sequence[Sequence[dict]]) -> str:
    """One verdict for each score, over all kinds of data."""
    lines = []
    for score in SCORES:
        leads = [over_sets(sets, "lead", score) for sets in found]
        each = [one["gaps"]["lead"][score] for sets in found for one in sets]
        lines.append(
            f"- {score.upper()}, single field not below L1: on {sum(map(not_below, each))} of "
            f"{len(each)} data sets; in the mean of every kind of data: "
            f"{verdict(all(map(not_below, leads)))}."
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = [world.kind for world in WORLDS]
    parser.add_argument("--worlds", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--cache", type=Path, default=Path(".cache/single-field"))
    parser.add_argument("--out", type=Path, default=Path("docs/single-field.md"))
    asked = parser.parse_args()

    def piece(world: World, seed: int) -> dict:
        file = asked.cache / f"{world.kind}-{seed}-{sampler_version()}.json"
        return kept(file, lambda: learned(world, seed))

    found = {
        world.kind: [piece(world, seed) for seed in range(1, world.n_sets + 1)]
        for world in WORLDS
        if world.kind in asked.worlds
    }
    chosen = [world for world in WORLDS if world.kind in found]
    text = f"""# One field in place of many

Made by `make single-field` (`benchmarks/single_field.py`). The field of the estimator (`field_`,
with `coupling_` and `bias_`) has the edges of probability one half or more, and is the nearest to
the mixture of draws among those (docs/maths.md, equation 40). Here it predicts {N_TEST:,} test
rows, learned from {N_ROWS} rows, beside three others: the *mixture* of {N_FIELDS} draws; the *plain
average* of draws, which has the same edges, their mean couplings given presence, and the mean
biases; and *L1*, the field on a path of {N_STRENGTHS} strengths of `L1PseudoLikelihood` whose
density (share of pairs with an edge) is nearest to that of the single field; of several, the least
shrunken. Scores are means over rows: every node given all others, summed (PLL), and a group of
nodes given the rest (CLL): a random patch of 3 x 3, or all nodes of a block world. Differences are
of the same rows, ± a standard error over these, not over data sets; *not below* is by more than one
such error.
{setting()}

{summary([found[world.kind] for world in chosen])}

{chr(10).join(section(world, found[world.kind]) for world in chosen)}"""
    asked.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
