"""Images, where nodes depend on each other strongly: what ``auto`` returns beside ``pseudo``.

Run by ``make mnist``; writes docs/mnist.md. MNIST is in the folder that SLABFIELD_DATA names. Each
likelihood on each data set is one piece, kept on disk when it is done.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from slabfield import SpikeSlabMRF
from slabfield.datasets import draw_rows
from slabfield.evaluate import (
    conditional_log_likelihood,
    draw_fields,
    edge_density,
    pseudo_log_likelihood,
)
from slabfield.models.field import BinaryField
from slabfield.posterior.convergence import sick_particles
from slabfield.reproduce.worlds import World, open_world
from timing import kept, sampler_version, setting, table, verdict

N_TEST = 10_000
LIKELIHOODS = ("auto", "pseudo")
REFERENCE, TIMES = "reference", 4
"""``particles`` with so many times the particles, and so many sweeps after a block: whether what is
left between ``auto`` and ``pseudo`` is an error of the sampler."""

IMAGES, DRAWN = "images", "rows of a field"
N_PARTS = 100
"""Into so many parts are test rows cut: how their scores differ tells the error of a difference."""

N_SWEEPS = 2_000
"""Gibbs sweeps by which each row of a field is drawn."""

HEALTH = ("n_particles", "noise", "half_against_half", "misfit")
"""What chains tell of their particles."""

DENSE = 0.5
"""Above this share of all edges a chain has run away."""


def rows_of(kind: str, n_rows: int, asked: argparse.Namespace) -> tuple[Any, Any, Any]:
    """Training rows, test rows, and the patches to predict.

    They are images, or drawn from the field that was found in them: there the model is right.
    """
    data = open_world(World("mnist", asked.seed, n_rows, N_TEST))
    if kind == IMAGES:
        return data.train, data.test, data.groups
    found = piece("auto", IMAGES, n_rows, asked)
    field = BinaryField(np.array(found["bias"]), np.array(found["coupling"]))
    rows = draw_rows(field, n_rows + N_TEST, asked.seed, method="gibbs", n_sweeps=N_SWEEPS)
    return rows[:n_rows], rows[n_rows:], data.groups


def scored(how: str, fields: Any, test: Any, groups: Any, density: float) -> dict:
    """Score one way to predict, over all test rows and in parts."""
    cll = conditional_log_likelihood(fields, test, groups)
    pll_parts = [pseudo_log_likelihood(fields, part) for part in np.split(test, N_PARTS)]
    return {
        "how": how, "density": density,
        "pll": float(np.mean(pll_parts)), "pll_parts": pll_parts,
        "cll": float(cll.mean()), "cll_error": float(cll.std(ddof=1) / np.sqrt(cll.size)),
        "cll_parts": [float(part.mean()) for part in np.split(cll, N_PARTS)],
    }  # fmt: skip


def fit(likelihood: str, kind: str, n_rows: int, asked: argparse.Namespace) -> dict:
    """Fit the rows by one likelihood, and score both ways to predict."""
    train, test, groups = rows_of(kind, n_rows, asked)
    told = {"likelihood": likelihood, "random_state": 1}
    if likelihood == REFERENCE:
        settled = max(piece("auto", kind, n_rows, asked)["health"]["n_particles"])
        told |= {"likelihood": "particles", "n_particles": TIMES * settled, "n_sweeps": TIMES}
    model = SpikeSlabMRF(n_draws=asked.draws, n_warmup=asked.warmup, **told)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        SpikeSlabMRF(n_draws=4, n_warmup=2, **told).fit(train[:50])  # compiles
        clock = time.process_time()
        model.fit(train)
    cpu_seconds = time.process_time() - clock
    posterior, field = model.posterior_, BinaryField(model.bias_, model.coupling_)
    mixture, found = draw_fields(posterior), float(posterior.density.mean())
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
        "sick": sick_particles(posterior.info),
        "health": {name: [chain.get(name) for chain in posterior.info] for name in HEALTH},
    }


def piece(likelihood: str, kind: str, n_rows: int, asked: argparse.Namespace) -> dict:
    """One likelihood on one data set, unless that is kept."""
    name = f"{likelihood}-{kind.replace(' ', '-')}"
    told = f"{name}-{n_rows}-{asked.seed}-{asked.draws}-{asked.warmup}"
    file = asked.cache / f"{told}-{sampler_version()}.json"
    return kept(file, lambda: fit(likelihood, kind, n_rows, asked))


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
        f"{worst['half_against_half']:.1f}, misfit {worst['misfit']:.1f}"
    )


def section(kind: str, n_rows: int, results: dict[str, dict]) -> str:
    rows = []
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
            f"- A reference with {TIMES} times the particles and {TIMES} sweeps after every block, "
            f"less pseudo: {both}; {health(results[REFERENCE])}. What it shares with auto is no "
            "error of the sampler.",
        )
    return "\n\n".join([f"## {n_rows:,} {kind}", table(head, rows), "\n".join(lines)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--warmup", type=int, default=60)
    parser.add_argument("--reference", action="store_true", help="1,000 images again, closely")
    parser.add_argument("--cache", type=Path, default=Path(".cache/mnist"))
    parser.add_argument("--out", type=Path, default=Path("docs/mnist.md"))
    asked = parser.parse_args()
    closely = (*LIKELIHOODS, REFERENCE) if asked.reference else LIKELIHOODS
    asked_of = ((IMAGES, 100, LIKELIHOODS), (IMAGES, 1_000, closely), (DRAWN, 1_000, LIKELIHOODS))
    parts = [
        section(kind, n, {name: piece(name, kind, n, asked) for name in names})
        for kind, n, names in asked_of
    ]
    text = f"""# Images: strong dependence

Made by `make mnist` (`benchmarks/mnist.py`). MNIST patches of 9 x 12 pixels
(`datasets.load_mnist_patches`), 108 nodes; four chains of {asked.draws} draws after {asked.warmup}
of warm-up, nothing else set. Predictions of {N_TEST:,} test images, means over images: every pixel
given all others, summed (PLL), and a random patch of 3 x 3 given the rest (CLL, ± a standard
error), by a mixture of 100 draws and by the one field of the estimator. Differences are of the same
images, ± a standard error. *halves* is how far the
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
