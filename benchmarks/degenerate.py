"""Degenerate tables under every engine: writes docs/degenerate.md. Run by ``make degenerate``.

Each engine is a process of its own, and each fit has a time budget. A fit that takes a multiple of
it ends the process: a fit that hangs is reported as such.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from degenerate_tables import LARGE, LARGE_TABLES, TABLES, find_bad
from timing import setting, table

DOCS = Path(__file__).parents[1] / "docs"
ALL = TABLES | LARGE_TABLES
# Engines for small and for large tables; "paper" is the paper's own sampler
SMALL_ENGINES, LARGE_ENGINES = ("exact", "pseudo", "particles"), ("pseudo", "particles", "paper")
N_DRAWS = 200
BUDGET = 20.0
HUNG_AFTER = 240.0
HEAD = f"""# Degenerate data

Made by `make degenerate` (`benchmarks/degenerate.py`): {N_DRAWS} draws in each of 4 chains (few,
for speed), seed 0, `time_budget={BUDGET:g}`. A fit that takes more than {HUNG_AFTER:g} s counts as
hung. The tables are in `benchmarks/degenerate_tables.py`; each is there with few columns and with
{LARGE}, too many for the exact engine, where "paper" is `preset="paper"`.
[One-hot codes](one-hot.md) have a page of their own.

"NaN" names results that are not finite: draws, inclusion probabilities, couplings, biases, scores
and predictions (the coupling of an edge that no draw has, and R-hat of what never changes, are NaN
by definition, and not counted). "edges" is how many of the pairs have probability 1/2 or more;
"largest" the largest absolute coupling of any draw. "warnings" lists their kinds:
*constant*, that a column has one value; *unconverged* that global quantities or biases have too few
effective draws ({N_DRAWS} draws are few: 4 chains of them seldom have the 400 required);
*edges* that undecided edges have; *particles* that the particles are too few or do not mix; *time*
that the budget ended the run.

Where the data carry almost no information, inclusion probabilities stay near p0, about 1/2 by its
prior, so that "edges" depends on which side of 1/2 they happen to fall. With the exact engine: all
zeros .498 to .504, all ones .509 to .513, two rows .502 to .527, two equal rows .496 to .500, 12
columns and 3 rows .516 to .563, 0.01% ones .517 to .666.

The paper's settings have one step size, whatever the number of rows. A million rows are too many
for it, and its couplings diverge: finite, but wrong. The default sampler has no step size.

"""


def fit(name: str, engine: str) -> dict[str, object]:
    """Fit one table and return its row of the page."""
    from slabfield import SpikeSlabMRF

    rows = ALL[name]()
    chosen = {"preset": "paper"} if engine == "paper" else {"likelihood": engine}
    model = SpikeSlabMRF(**chosen, n_draws=N_DRAWS, random_state=0, n_jobs=1, time_budget=BUDGET)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows)
        seconds = time.perf_counter() - start
        bad = find_bad(model, rows)
    posterior = model.posterior_
    n_edges = posterior.edge_probability.size
    couplings = posterior.draws.values.data
    return {
        "nodes": rows.shape[1],
        "rows": rows.shape[0],
        "seconds": seconds,
        "bad": bad,
        "edges": f"{int((posterior.edge_probability >= 0.5).sum())} of {n_edges}",
        "largest": float(abs(couplings).max()) if couplings.size else 0.0,
        "draws": posterior.draws.n_draws,
        "warnings": _kinds([str(w.message) for w in caught], posterior.warnings),
    }


def _kinds(caught: list[str], stored: list[str]) -> list[str]:
    """Summarize each warning in a word; an unknown one is given in full."""
    words = {
        "the same value in every row": "constant",
        "has not converged": "unconverged",
        "The bias": "unconverged",
        "undecided edge": "edges",
        "particles": "particles",
        "time budget": "time",
        "not finite": "restarted",
        "too few to judge": "unconverged",
    }
    found = []
    for text in [*caught, *stored]:
        known = [word for part, word in words.items() if part in text]
        found.append(known[0] if known else re.sub(r"\s+", " ", text))
    return list(dict.fromkeys(found))


def run(engine: str, tables: list[str]) -> list[list[str]]:
    """Fit tables in a separate process, restarted after one hangs or fails."""
    left, rows = list(tables), []
    while left:
        command = [sys.executable, __file__, "--engine", engine, "--tables", *left]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        for line in done.stdout.splitlines():
            rows.append(_row(left.pop(0), engine, json.loads(line)))
        if left and done.returncode:
            rows.append([left.pop(0), engine, f"failed, or over {HUNG_AFTER:g} s", "", "", "", ""])
    return rows


def _row(name: str, engine: str, facts: dict[str, Any]) -> list[str]:
    return [
        name,
        engine,
        f"{facts['seconds']:.1f} s" + ("" if facts["draws"] == N_DRAWS else f", {facts['draws']}"),
        ", ".join(facts["bad"]) or "none",
        facts["edges"],
        f"{facts['largest']:.2g}",
        ", ".join(facts["warnings"]) or "nothing",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=sorted({*SMALL_ENGINES, *LARGE_ENGINES}))
    parser.add_argument("--tables", nargs="*", choices=list(ALL), default=list(ALL))
    asked = parser.parse_args()
    if asked.engine:
        fit("two columns", asked.engine)  # compiles, if need be
        for name in asked.tables:
            faulthandler.dump_traceback_later(HUNG_AFTER, exit=True)
            print(json.dumps(fit(name, asked.engine)), flush=True)
        return
    rows = []
    for engines, tables in ((SMALL_ENGINES, TABLES), (LARGE_ENGINES, LARGE_TABLES)):
        by_engine = [run(engine, list(tables)) for engine in engines]
        rows += [row for same in zip(*by_engine, strict=True) for row in same]
    head = ("table", "engine", "time", "NaN", "edges", "largest", "warnings")
    text = HEAD + table(head, rows) + "\n\n" + setting() + "\n"
    (DOCS / "degenerate.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
