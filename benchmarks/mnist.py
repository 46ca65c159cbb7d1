"""Images, where nodes depend on each other strongly: what ``auto`` returns beside ``pseudo``.

Run by ``make mnist``; writes docs/mnist.md. MNIST is in the folder that SLABFIELD_DATA names. Each
likelihood on each data set is one piece, kept on disk when it is done.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from joblib import Parallel, delayed

from slabfield import SpikeSlabMRF
from slabfield.reproduce.comparison import score_method
from slabfield.reproduce.worlds import World, open_world
from timing import kept, sampler_version, setting, table, verdict

ROWS, N_TEST = (100, 1_000), 10_000
LIKELIHOODS = ("auto", "pseudo")
DENSE = 0.5
"""Above this share of all edges a chain has run away."""


def fit(likelihood: str, n_rows: int, asked: argparse.Namespace) -> dict:
    """Fit the patches by one likelihood, and score both ways to predict."""
    data = open_world(World("mnist", asked.seed, n_rows, N_TEST))
    model = SpikeSlabMRF(
        likelihood=likelihood, n_draws=asked.draws, n_warmup=asked.warmup, random_state=1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = score_method(likelihood, model, data.train, data.test, data.groups)
    posterior = model.posterior_
    return {
        "engine": posterior.settings["engine"],
        "scores": [score._asdict() for score in scores],
        "densities": [float(d) for d in posterior.density.mean(axis=1)],
        "sick": [w for w in posterior.warnings if "particles" in w or "trap" in w],
        "particles": [chain.get("n_particles") for chain in posterior.info],
        "noise": [chain.get("noise") for chain in posterior.info],
        "halves": [chain.get("half_against_half") for chain in posterior.info],
    }


def piece(likelihood: str, n_rows: int, asked: argparse.Namespace) -> dict:
    """One likelihood on one data set, unless that is kept."""
    told = f"{likelihood}-{n_rows}-{asked.seed}-{asked.draws}-{asked.warmup}"
    file = asked.cache / f"{told}-{sampler_version()}.json"
    return kept(file, lambda: fit(likelihood, n_rows, asked))


def health(found: dict) -> str:
    """Noise of log odds, and how far halves of the particles differ: the worst chain's."""
    if found["engine"] != "particles":
        return "no particles"
    return (
        f"{max(found['particles']):,} particles, noise {max(found['noise']):.2f}, halves "
        f"{max(found['halves']):.1f}"
    )


def section(n_rows: int, results: dict[str, dict]) -> str:
    rows = []
    for likelihood, found in results.items():
        for score in found["scores"]:
            how = score["method"].partition(", ")[2]
            rows.append((
                likelihood, found["engine"], how, f"{score['pll']:.2f}",
                f"{score['cll']:.3f} ± {score['cll_error']:.3f}", f"{score['density']:.3f}",
                f"{score['cpu_seconds']:.0f}",
            ))  # fmt: skip
    head = ("likelihood", "engine", "predicts by", "test PLL", "3 x 3 CLL", "density", "CPU s")
    auto, pseudo = (results[name]["scores"][0] for name in LIKELIHOODS)
    dense = max(results["auto"]["densities"])
    sick = results["auto"]["sick"]
    lines = (
        f"- Test PLL of the mixture, auto less pseudo: {auto['pll'] - pseudo['pll']:+.2f} (at "
        f"least 0: {verdict(auto['pll'] >= pseudo['pll'])}).",
        f"- 3 x 3 CLL of the mixture: {auto['cll'] - pseudo['cll']:+.3f} (at least 0: "
        f"{verdict(auto['cll'] >= pseudo['cll'])}).",
        f"- Densest chain of auto: {dense:.3f} of all edges (no edges run away, below {DENSE:g}: "
        f"{verdict(dense < DENSE)}).",
        f"- Health of auto: {health(results['auto'])}; warnings about particles: "
        f"{'; '.join(sick) if sick else 'none'}.",
    )
    return "\n\n".join([f"## {n_rows:,} images", table(head, rows), "\n".join(lines)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--warmup", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cache", type=Path, default=Path(".cache/mnist"))
    parser.add_argument("--out", type=Path, default=Path("docs/mnist.md"))
    asked = parser.parse_args()
    pairs = [(likelihood, n_rows) for n_rows in ROWS for likelihood in LIKELIHOODS]
    found = dict(zip(
        pairs, Parallel(n_jobs=asked.jobs)(delayed(piece)(*pair, asked) for pair in pairs),
        strict=True,
    ))  # fmt: skip
    parts = [section(n, {name: found[name, n] for name in LIKELIHOODS}) for n in ROWS]
    text = f"""# Images: strong dependence

Made by `make mnist` (`benchmarks/mnist.py`). MNIST patches of 9 x 12 pixels
(`datasets.load_mnist_patches`), 108 nodes; four chains of {asked.draws} draws after {asked.warmup}
of warm-up, nothing else set. Predictions of {N_TEST:,} test images, means over images: every pixel
given all others, summed (PLL), and a random patch of 3 x 3 given the rest (CLL, ± a standard
error), by a mixture of 100 draws and by the one field of the estimator. *halves* is how far the
particles that started from images and those that started from noise differ, 1 being chance; *noise*
is the variance of open log odds that comes from particles.
{setting()}

{chr(10).join(f"{part}{chr(10)}" for part in parts)}"""
    asked.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
