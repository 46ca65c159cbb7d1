"""Images, where nodes depend on each other strongly: what ``auto`` returns beside ``pseudo``.

Run by ``make mnist``; writes docs/mnist.md. MNIST is in the folder that SLABFIELD_DATA names. Each
likelihood on each data set is one piece, kept on disk when it is done.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from slabfield import SpikeSlabMRF
from slabfield.datasets import draw_rows
from slabfield.evaluate import (
    conditional_log_likelihood,
    edge_density,
    pseudo_log_likelihood,
)
from slabfield.models.field import BinaryField
from slabfield.posterior.diagnostics import particle_warnings
from slabfield.reproduce.data_sets import DataSet, open_data_set
from timing import kept, sampler_version, setting, table, verdict

N_TEST = 10_000
LIKELIHOODS = ("auto", "pseudo")
REFERENCE, TIMES, SWEEPS = "reference", 2, 4
"""``particles`` with so many times the particles, and so many sweeps after a block: whether what is
left between ``auto`` and ``pseudo`` is an error of the sampler."""

IMAGES, DRAWN = "images", "rows of a field"
N_PARTS = 100
"""Into so many parts are test rows cut: how their scores differ tells the error of a difference."""

N_SWEEPS = 2_000
"""Gibbs sweeps by which each row of a field is drawn."""

HEALTH = ("n_particles", "noise", "two_start_discrepancy", "moment_misfit")
"""What chains tell of their particles."""

FIRST_SEED = 1
"""Of the training set that the tables are about."""

DENSE = 0.5
"""Above this share of all edges a chain has run away."""


class Data(NamedTuple):
    """What is learned from: kind of rows, how many, and which of the training sets."""

    kind: str
    n_rows: int
    seed: int = FIRST_SEED


def rows_of(data: Data, asked: argparse.Namespace) -> tuple[Any, Any, Any]:
    """Training rows, test rows, and the patches to predict.

    They are images, or drawn from the field that was found in them: there the model is right.
    """
    world = open_data_set(DataSet("mnist", data.seed, data.n_rows, N_TEST))
    if data.kind == IMAGES:
        return world.train, world.test, world.groups
    found = piece("auto", data._replace(kind=IMAGES), asked)
    field = BinaryField(np.array(found["bias"]), np.array(found["coupling"]))
    n = data.n_rows
    rows = draw_rows(field, n + N_TEST, data.seed, method="gibbs", n_sweeps=N_SWEEPS)
    return rows[:n], rows[n:], world.groups


def scored(how: str, fields: Any, test: Any, groups: Any, density: float) -> dict:
    """Score one way to predict, over all test rows and in parts."""
    cll = conditional_log_likelihood(fields, test, groups)
    pll_parts = [pseudo_log_likelihood(fields, part).mean() for part in np.split(test, N_PARTS)]
    return {
        "how": how, "density": density,
        "pll": float(np.mean(pll_parts)), "pll_parts": pll_parts,
        "cll": float(cll.mean()), "cll_error": float(cll.std(ddof=1) / np.sqrt(cll.size)),
        "cll_parts": [float(part.mean()) for part in np.split(cll, N_PARTS)],
    }  # fmt: skip


def fit(likelihood: str, data: Data, asked: argparse.Namespace) -> dict:
    """Fit the rows by one likelihood, and score both ways to predict."""
    train, test, groups = rows_of(data, asked)
    parameters = {"likelihood": likelihood, "random_state": 1}
    if likelihood == REFERENCE:
        settled = max(piece("auto", data, asked)["health"]["n_particles"])
        parameters |= {
            "likelihood": "particles",
            "sampler": {"n_particles": TIMES * settled, "n_sweeps": SWEEPS},
        }
    model = SpikeSlabMRF(n_draws=asked.draws, n_warmup=asked.warmup, **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        SpikeSlabMRF(n_draws=4, n_warmup=2, **parameters).fit(train[:50])  # compiles
        clock = time.process_time()
        model.fit(train)
    cpu_seconds = time.process_time() - clock
    posterior, field = model.posterior_, BinaryField(model.bias_, model.coupling_)
    mixture, found = posterior.fields(100), float(posterior.density.mean())
    return {
        "scores": [
            scored("mixture of draws", mixture, test, groups, found),
            scored("one field", field, test, groups, edge_density(model)),
        ],
        "bias": model.bias_.tolist(),
        "coupling": model.coupling_.tolist(),
        "engine": posterior.settings["engine"],
        "cpu_seconds": cpu_seconds,
        "densities": [float(d) for d in posterior.density.mean(axis=1)],
        "sick": [str(message) for message in particle_warnings(posterior.info)],
        "health": {name: [chain.get(name) for chain in posterior.info] for name in HEALTH},
    }


def piece(likelihood: str, data: Data, asked: argparse.Namespace) -> dict:
    """One likelihood on one data set, unless that is kept."""
    name = f"{likelihood}-{data.kind.replace(' ', '-')}"
    key = f"{name}-{data.n_rows}-{data.seed}-{asked.draws}-{asked.warmup}"
    file = asked.cache / f"{key}-{sampler_version()}.json"
    return kept(file, lambda: fit(likelihood, data, asked))


def gain(results: dict[str, dict], score: str, name: str = "auto") -> tuple[float, float]:
    """What one has more than pseudo, and its standard error, on the same test rows."""
    one, pseudo = (
        np.array(results[likelihood]["scores"][0][f"{score}_parts"])
        for likelihood in (name, "pseudo")
    )
    gap = one - pseudo
    return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(gap.size))


def health(found: dict) -> str:
    """What tells the health of the particles: the worst chain's."""
    if found["engine"] != "particles":
        return "no particles"
    worst = {name: max(of_chains) for name, of_chains in found["health"].items()}
    return (
        f"{worst['n_particles']:,} particles, noise {worst['noise']:.2f}, halves "
        f"{worst['two_start_discrepancy']:.1f}, misfit {worst['moment_misfit']:.1f}"
    )


def over_sets(sets: list[dict[str, dict]], score: str) -> tuple[float, float]:
    """What auto has more than pseudo, on average over training sets, and its standard error."""
    gaps = [gain(results, score)[0] for results in sets]
    return float(np.mean(gaps)), float(np.std(gaps, ddof=1) / np.sqrt(len(gaps)))


def training_sets(sets: list[dict[str, dict]]) -> str:
    """What training sets have in common: a row each, and the verdict on their mean."""
    rows = []
    for seed, results in enumerate(sets, FIRST_SEED):
        auto, misfits = results["auto"], results["auto"]["health"]["moment_misfit"]
        rows.append((
            seed, *("{:+.3f} ± {:.3f}".format(*gain(results, score)) for score in ("pll", "cll")),
            *(f"{np.mean(results[name]['densities']):.3f}" for name in LIKELIHOODS),
            auto["engine"], f"{np.median(misfits):.1f}", "; ".join(auto["sick"]) or "none",
        ))  # fmt: skip
    head = ("training set", "PLL, auto less pseudo", "CLL, auto less pseudo", "density of auto",
            "density of pseudo", "engine of auto", "median misfit", "warnings")  # fmt: skip
    lines = []
    for score in ("pll", "cll"):
        mean, error = over_sets(sets, score)
        lines.append(
            f"- {score.upper()}, mean of {len(sets)} training sets: {mean:+.3f} ± {error:.3f} (at "
            f"least 0: {verdict(mean >= 0)})."
        )
    return "\n\n".join([table(head, rows), "\n".join(lines)])


def section(data: Data, sets: list[dict[str, dict]]) -> str:
    """One kind of rows: the first training set at length, and all of them if there are several."""
    results, rows = sets[0], []
    for likelihood, found in results.items():
        for score in found["scores"]:
            rows.append((
                likelihood, found["engine"], score["how"], f"{score['pll']:.2f}",
                f"{score['cll']:.3f} ± {score['cll_error']:.3f}", f"{score['density']:.3f}",
                f"{found['cpu_seconds']:.0f}",
            ))  # fmt: skip
    head = ("likelihood", "engine", "predicts by", "test PLL", "3 x 3 CLL", "density", "CPU s")
    pll, pll_error = gain(results, "pll")
    cll, cll_error = gain(results, "cll")
    dense = max(results["auto"]["densities"])
    sick = results["auto"]["sick"]
    lines = (
        f"- Test PLL of the mixture, auto less pseudo: {pll:+.3f} ± {pll_error:.3f} (at least 0: "
        f"{verdict(pll >= 0)}).",
        f"- 3 x 3 CLL of the mixture: {cll:+.3f} ± {cll_error:.3f} (at least 0: "
        f"{verdict(cll >= 0)}).",
        f"- Densest chain of auto: {dense:.3f} of all edges (no edges run away, below {DENSE:g}: "
        f"{verdict(dense < DENSE)}).",
        f"- Health of auto: {health(results['auto'])}; warnings about particles: "
        f"{'; '.join(sick) if sick else 'none'}.",
    )
    if REFERENCE in results:
        both = ", ".join(
            f"{score.upper()} {{:+.3f}} ± {{:.3f}}".format(*gain(results, score, REFERENCE))
            for score in ("pll", "cll")
        )
        lines += (
            f"- A reference with {TIMES} times the particles and {SWEEPS} sweeps after every "
            f"block, less pseudo: {both}; {health(results[REFERENCE])}. What it shares with auto "
            "is no error of the sampler.",
        )
    parts = [f"## {data.n_rows:,} {data.kind}", table(head, rows), "\n".join(lines)]
    if len(sets) > 1:
        parts.append(training_sets(sets))
    return "\n\n".join(parts)


def seeds(asked: argparse.Namespace) -> range:
    """Those of the training sets."""
    return range(FIRST_SEED, FIRST_SEED + asked.sets)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=5, help="training sets of images")
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--warmup", type=int, default=60)
    parser.add_argument("--reference", action="store_true", help="1,000 images again, closely")
    parser.add_argument("--cache", type=Path, default=Path(".cache/mnist"))
    parser.add_argument("--out", type=Path, default=Path("docs/mnist.md"))
    asked = parser.parse_args()

    def learned(data: Data, *more: str) -> dict[str, dict]:
        return {name: piece(name, data, asked) for name in (*LIKELIHOODS, *more)}

    images = [Data(IMAGES, n, seed) for n in (100, 1_000) for seed in seeds(asked)]
    found = {data: learned(data) for data in images}
    if asked.reference:
        found[Data(IMAGES, 1_000)] = learned(Data(IMAGES, 1_000), REFERENCE)
    parts = [
        section(data, [found[data._replace(seed=seed)] for seed in seeds(asked)])
        for data in (Data(IMAGES, 100), Data(IMAGES, 1_000))
    ]
    control = Data(DRAWN, 1_000)
    parts.append(section(control, [learned(control)]))
    text = f"""# Images: strong dependence

Made by `make mnist` (`benchmarks/mnist.py`). MNIST patches of 9 x 12 pixels
(`datasets.load_mnist_patches`), 108 nodes; four chains of {asked.draws} draws after {asked.warmup}
of warm-up, nothing else set. Predictions of {N_TEST:,} test images, means over images: every pixel
given all others, summed (PLL), and a random patch of 3 x 3 given the rest (CLL, ± a standard
error), by a mixture of 100 draws and by the one field of the estimator. Differences are of the same
images, ± a standard error over these; means over training sets, which the tables of one do not
show, ± one over the sets. *halves* is how far the
particles that started from images and those that started from noise differ, 1 being chance; *noise*
is the variance of open log odds that comes from particles; *misfit* is how far the field is from
the data where it was fitted to them, 1 being chance (docs/maths.md, equation 28). The last part is
a control: its rows, for training and for test, are drawn from the one field that auto found in the
images, so that the model is right there.
{setting()}

{chr(10).join(f"{part}{chr(10)}" for part in parts)}"""
    asked.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
