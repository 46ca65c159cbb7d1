"""The default sampler beside its rivals on 10 x 10 lattices: writes docs/lattice.md.

Run by ``make lattice``. Each method on each data set is one piece, kept on disk when it is done.
BDgraph is run where Rscript has it.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from slabfield import SpikeSlabMRF
from slabfield.baselines import L1Neighborhood, L1PseudoLikelihood
from slabfield.datasets import make_lattice
from slabfield.evaluate import edge_recovery, pseudo_log_likelihood
from slabfield.models.field import BinaryField
from timing import kept, sampler_version, setting, table

N_TEST = 2_000
OURS = "slabfield"
SCRIPT = """
suppressMessages(library(BDgraph))
arguments <- commandArgs(TRUE)
X <- as.matrix(read.csv(file.path(arguments[1], "rows.csv"), header = FALSE))
set.seed(1)
before <- sum(proc.time()[1:2])
has_verbose <- "verbose" %in% names(formals(bdgraph.mpl))
quiet <- if (has_verbose) list(verbose = FALSE) else list(print = 6000)
wanted <- list(data = X, method = "dgm-binary", iter = 5000, cores = 1)
fit <- do.call(bdgraph.mpl, c(wanted, quiet))
cpu <- sum(proc.time()[1:2]) - before
write.table(plinks(fit), file.path(arguments[1], "links.csv"), sep = ",",
            row.names = FALSE, col.names = FALSE)
write(cpu, file.path(arguments[1], "cpu.txt"))
"""


def has_bdgraph() -> bool:
    if shutil.which("Rscript") is None:
        return False
    command = ["Rscript", "-e", "library(BDgraph)"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def measures(truth: BinaryField, test: np.ndarray, score: np.ndarray, chosen: np.ndarray,
             field: BinaryField | None) -> dict:  # fmt: skip
    """Ranking of edges, the graph chosen, and the likelihood of held-out rows."""
    upper = np.triu_indices(truth.n_nodes, 1)
    edges = truth.coupling[upper] != 0
    return {
        "auc": roc_auc_score(edges, score[upper]),
        "f1": edge_recovery(truth.coupling != 0, chosen).f1,
        "density": float(chosen[upper].mean()),
        "pll": np.nan if field is None else pseudo_log_likelihood(field, test).mean(),
    }


def run_slabfield(rows: np.ndarray) -> tuple[SpikeSlabMRF, dict]:
    model = SpikeSlabMRF(n_draws="auto", random_state=1).fit(rows)
    posterior = model.posterior_
    facts = {
        "converged": posterior.converged, "draws": posterior.draws.n_draws,
        "engine": posterior.settings["engine"],
        "restarts": sum(chain.get("restarts", 0) for chain in posterior.info),
        "in_dense_mode": any(chain.get("in_dense_mode", False) for chain in posterior.info),
        "particles": posterior.info[0].get("n_particles"), "warnings": posterior.warnings,
    }  # fmt: skip
    return model, facts


def run_bdgraph(rows: np.ndarray) -> tuple[np.ndarray, float]:
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(Path(folder) / "rows.csv", rows, fmt="%d", delimiter=",")
        script = Path(folder) / "run.R"
        script.write_text(SCRIPT)
        subprocess.run(["Rscript", str(script), folder], check=True, capture_output=True)
        links = np.loadtxt(Path(folder) / "links.csv", delimiter=",")
        return links + links.T, float((Path(folder) / "cpu.txt").read_text())


def run(method: str, n_rows: int, seed: int) -> dict:
    """One method on one data set."""
    data = make_lattice(n_rows + N_TEST, random_state=seed)
    rows, test = data.rows[:n_rows], data.rows[n_rows:]
    clock, facts = time.process_time(), {}
    if method == "BDgraph, 5,000 iterations":
        score, cpu = run_bdgraph(rows)
        return {"cpu": cpu, **measures(data.field, test, score, score >= 0.5, None)}
    if method == OURS:
        model, facts = run_slabfield(rows)
        score, chosen = model.inclusion_probability_, model.inclusion_probability_ >= 0.5
        # the mean of the field over the posterior: absent edges count as zero
        field = BinaryField(model.bias_, model.posterior_.coupling_averaged)
    else:
        model = {
            "L1 neighborhood, EBIC": L1Neighborhood(select="ebic", rule="min"),
            "L1 neighborhood, CV": L1Neighborhood(select="cv", rule="min", random_state=0),
            "L1 pseudo-likelihood, CV": L1PseudoLikelihood(select="cv", random_state=0),
            "L1 pseudo-likelihood, BIC": L1PseudoLikelihood(select="bic"),
        }[method].fit(rows)
        score, chosen = np.abs(model.coupling_), model.coupling_ != 0
        field = BinaryField(model.bias_, model.coupling_)
    cpu = time.process_time() - clock
    return {"cpu": cpu, **measures(data.field, test, score, chosen, field), **facts}


def quiet_run(method: str, n_rows: int, seed: int) -> dict:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(method, n_rows, seed)


def piece(method: str, n_rows: int, seed: int, folder: Path) -> dict:
    """One method, unless its result is kept; ours only where the sources are the same."""
    version = sampler_version() if method == OURS else "1"
    name = "".join(c if c.isalnum() else "-" for c in f"{method} {n_rows} {seed} {version}")
    return kept(folder / f"{name}.json", lambda: quiet_run(method, n_rows, seed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 1_000])
    parser.add_argument("--cache", type=Path, default=Path(".cache/lattice"))
    parser.add_argument("--out", type=Path, default=Path("docs/lattice.md"))
    options = parser.parse_args()
    methods = [
        OURS, "L1 neighborhood, EBIC", "L1 neighborhood, CV", "L1 pseudo-likelihood, CV",
        "L1 pseudo-likelihood, BIC",
    ]  # fmt: skip
    methods += ["BDgraph, 5,000 iterations"] if has_bdgraph() else []
    # compiled code is loaded before anything is timed
    few = SpikeSlabMRF(likelihood="particles", n_warmup=1, n_draws=1, n_chains=1)
    few.fit(make_lattice(100, random_state=0).rows)
    found = [
        {"rows": n_rows, "seed": seed, "method": method}
        | piece(method, n_rows, seed, options.cache)
        for seed in range(1, options.seeds + 1)
        for n_rows in options.rows
        for method in methods
    ]
    frame = pd.DataFrame(found).drop(columns="warnings")
    frame.to_csv(options.out.with_suffix(".csv"), index=False)
    parts = []
    for n_rows, part in frame.groupby("rows"):
        lines = []
        for method in methods:
            ours = part[part["method"] == method]
            # BDgraph gives edges, but no couplings to predict with
            cells = [
                f"{ours[c].mean():.3f} ± {ours[c].std():.3f}" if ours[c].notna().any() else "none"
                for c in ("pll", "auc", "f1")
            ]
            good = f"{int(ours['converged'].sum())}/{len(ours)}" if method == OURS else ""
            trap = f"{int(ours['in_dense_mode'].sum())}" if method == OURS else ""
            lines.append((method, *cells, f"{ours['density'].mean():.4f}",
                          f"{ours['cpu'].mean():.0f}", good, trap))  # fmt: skip
        head = ("method", "test PLL", "AUC", "F1", "density", "CPU s", "converged", "in the trap")
        parts.append(f"## N = {n_rows}\n\n{table(head, lines)}\n")
    text = f"""# Lattices: the default sampler beside its rivals

Made by `make lattice` (`benchmarks/lattice.py`). `datasets.make_lattice`, 10 x 10, 180 true edges
of 4,950 (density 0.0364), seeds 1 to {options.seeds}; mean and standard deviation over data sets.
slabfield runs with `n_draws="auto"` and four chains, nothing tuned; CPU seconds are of all chains,
warm-up included. PLL: pseudo-log-likelihood of a held-out row ({N_TEST:,} rows) at the posterior
mean, or at the point estimate; AUC by inclusion probability or size of the coupling; F1 of the
edges of probability 0.5 or more, or that are not zero. L1 neighborhoods are combined by the AND
rule.
{setting()}

{chr(10).join(parts)}"""
    options.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
