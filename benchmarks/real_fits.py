"""One fit of one table in a process of its own: ``python real_fits.py JOB``, JOB being JSON.

``real_data.py`` starts it. Fits whose speed is compared (`rate`) use only what older commits have,
too, and those are what it then imports.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from arviz_stats.base import array_stats
from sklearn.base import clone

import slabfield
from slabfield import SpikeSlabMRF
from timing import kept

Job = dict[str, Any]
Found = dict[str, Any]

UNDECIDED = (0.05, 0.95)
# Draws over which the mixture is taken
N_FIELDS = 100


def read_rows(job: Job) -> tuple[Any, Any]:
    """Return training and test rows."""
    with np.load(job["table"]) as stored:
        return stored["train"], stored["test"]


def timed_fit(model: Any, first: Any, rows: Any) -> float:
    """Fit a model, and return its CPU seconds; another fit before it compiles the code.

    Chains run in threads of this process.
    """
    first.fit(rows if isinstance(model, SpikeSlabMRF) else rows[:, :3])
    start = time.process_time()
    model.fit(rows)
    return time.process_time() - start


def fit_slabfield(job: Job) -> tuple[Any, float]:
    """Fit slabfield; return the model and its CPU seconds."""
    model = SpikeSlabMRF(**job["settings"], progress=False, na="impute")
    brief = clone(model).set_params(n_draws=4, n_warmup=20, n_chains=2, time_budget=None)
    return model, timed_fit(model, brief, read_rows(job)[0])


def mixing(posterior: Any) -> Found:
    """R-hat and effective draws of density, p0, sigma0, and the worst of undecided edges."""
    series = {
        "density": posterior.density, "p0": posterior.draws.p0, "sigma0": posterior.draws.sigma0,
    }  # fmt: skip
    found = {
        name: {
            "ess": array_stats.ess(values, chain_axis=0, draw_axis=1),
            "rhat": array_stats.rhat(values, chain_axis=0, draw_axis=1),
        }
        for name, values in series.items()
    }
    edges = posterior.to_dataframe()
    undecided = edges[edges["inclusion_probability"].between(*UNDECIDED)]
    worst = {"ess": undecided["ess"].min(), "rhat": undecided["rhat"].max()}
    return found | {"edges": worst, "n_undecided": len(undecided)}


def waits_for(posterior: Any) -> list[str]:
    """Return what has not converged, in few words."""
    convergence = posterior.convergence
    found = [
        f"{name} (R-hat {rhat:.2f}, {ess:.0f} effective draws)"
        for name, (rhat, ess) in convergence.unconverged_quantities.items()
    ]
    found += filter(None, [convergence.unconverged_parameters])
    codes = [problem.code for problem in posterior.problems]
    return found + [code.replace("-", " ") for code in codes if not code.startswith("unconverged")]


def is_finite(draws: Any) -> bool:
    """Whether every number of the draws is finite."""
    parts = (draws.parameters.data, draws.bias, draws.p0, draws.sigma0, draws.potential)
    return all(bool(np.isfinite(part).all()) for part in parts)


def outcome(posterior: Any) -> Found:
    """Return how a run ended, and the inclusion probabilities with their Monte Carlo errors."""
    return {
        "engine": posterior.settings["engine"],
        "n_particles": max(chain.get("n_particles", 0) for chain in posterior.info),
        "n_draws": posterior.draws.n_draws,
        "converged": posterior.converged,
        "stopped_by": posterior.settings["stopped_by"],
        "warnings": posterior.warnings,
        "waits_for": waits_for(posterior),
        "finite": is_finite(posterior.draws),
        "probability": posterior.edge_probability.tolist(),
        "mcse": posterior.convergence.probability_mcse.tolist(),
    }


def scores(fields: Any, codes: Any, density: float) -> Found:
    """Pseudo- and conditional log-likelihood of each row of codes, with the density."""
    from slabfield.evaluate import conditional_log_likelihood, pseudo_log_likelihood
    from slabfield.reproduce.comparison import random_groups

    n_rows, n_nodes = codes.shape
    groups = random_groups(n_nodes, n_rows, 1, int(codes.max()) + 1)
    return {
        "pll": pseudo_log_likelihood(fields, codes).tolist(),
        "cll": conditional_log_likelihood(fields, codes, groups).tolist(),
        "density": density,
    }


def shape(job: Job) -> Found:
    """Return the numbers of columns and rows."""
    train, test = read_rows(job)
    return {"n_columns": train.shape[1], "n_train": len(train), "n_test": len(test)}


def rate(job: Job) -> Found:
    """Return what a fit took, and its effective draws."""
    model, seconds = fit_slabfield(job)
    return {"cpu_seconds": seconds, **mixing(model.posterior_)}


def run(job: Job) -> Found:
    """Return a run's convergence; with ``scored``, also what its fields are worth on test rows."""
    from slabfield.evaluate import edge_density

    model, seconds = fit_slabfield(job)
    posterior = model.posterior_
    found = {"cpu_seconds": seconds, **shape(job), **mixing(posterior), **outcome(posterior)}
    if not job["scored"]:
        return found
    codes = posterior.encoder.transform(read_rows(job)[1]).rows
    mixture = scores(posterior.fields(N_FIELDS), codes, float(posterior.density.mean()))
    single = scores(model.field_, codes, edge_density(model.coupling_))
    return found | {"models": {"mixture of draws": mixture, "one field": single}}


def rival(job: Job) -> Found:
    """Return what another method is worth on test rows; it learns from complete rows."""
    from slabfield.encoding import code_table
    from slabfield.evaluate import edge_density
    from slabfield.reproduce.comparison import estimators

    train, test = read_rows(job)
    binary = not job["has_levels"]
    model, first = (
        estimators(job["seed"], 1, two_valued=binary)[job["method"]] for _ in range(2)
    )  # fmt: skip
    seconds = timed_fit(model, first, train[~np.isnan(train).any(axis=1)])
    codes = code_table(train, na="impute").encoder.transform(test).rows
    density = edge_density(model.coupling_)
    if model.has_field:
        found = scores(model.field_, codes, density)
    else:
        found = {"pll": model.score_codes(codes).tolist(), "cll": [], "density": density}
    return {"cpu_seconds": seconds, **shape(job), "models": {job["method"]: found}}


def main() -> None:
    job = json.loads(sys.argv[1])
    if not Path(slabfield.__file__).is_relative_to(job["source"]):
        raise SystemExit(f"slabfield must be that of {job['source']}; found {slabfield.__file__}")
    warnings.simplefilter("ignore")
    kept(Path(job["file"]), partial({"rate": rate, "run": run, "rival": rival}[job["kind"]], job))


if __name__ == "__main__":
    main()
