"""CPU time of an L1 path of one node beside glmnet, at the same gap.

Both solve the same strengths, on 0/1 predictors that are not standardized. glmnet has no gap to
ask for, only a threshold on changes; it is run at several, and what it reached is measured from
its coefficients. Two gaps are reported, relative to the objective and the largest over paths: the
distance to the optimum (from a solution with a certified duality gap of 1e-13), and the duality
gap of the coefficients themselves, which is what slabfield certifies.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from slabfield.baselines.node_solver import largest_strengths, solve_node
from slabfield.datasets import make_block, make_lattice
from timing import best_times, section, setting, table, verdict

LIMIT = 2.0
GAP = 1e-9
N_STRENGTHS = 100
THRESHOLDS = (1e-7, 1e-10, 1e-12, 1e-14, 1e-16)

SCRIPT = """
suppressMessages(library(glmnet))
arguments <- commandArgs(TRUE)
X <- as.matrix(read.csv(file.path(arguments[1], "rows.csv"), header = FALSE))
L <- as.matrix(read.csv(file.path(arguments[1], "strengths.csv"), header = FALSE))
nodes <- scan(file.path(arguments[1], "nodes.csv"), sep = ",", quiet = TRUE) + 1
glmnet.control(fdev = 0, devmax = 1)
for (threshold in as.numeric(strsplit(arguments[2], ",")[[1]])) {
  for (k in seq_along(nodes)) {
    x <- X[, -nodes[k]]; y <- X[, nodes[k]]; least <- Inf
    for (round in 1:3) {
      before <- sum(proc.time()[1:2])
      for (again in 1:5) fit <- suppressWarnings(glmnet(x, y, family = "binomial",
          standardize = FALSE, lambda = L[k, ], thresh = threshold, maxit = 1e8))
      least <- min(least, (sum(proc.time()[1:2]) - before) / 5)
    }
    name <- sprintf("%s_%d.csv", format(threshold), k - 1)
    result <- cbind(least, fit$lambda, fit$a0, t(as.matrix(fit$beta)))
    write.table(format(result, digits = 17), file.path(arguments[1], name), sep = ",",
                row.names = FALSE, col.names = FALSE, quote = FALSE)
  }
}
"""


def has_glmnet() -> bool:
    if shutil.which("Rscript") is None:
        return False
    command = ["Rscript", "-e", "library(glmnet)"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def objectives(x, node, intercept, coefficient, strengths) -> np.ndarray:
    """Primal objective of every strength."""
    eta = intercept[:, None] + coefficient @ x.T
    loss = (np.logaddexp(0, eta) - x[:, node] * eta).mean(axis=1)
    return loss + strengths * np.abs(coefficient).sum(axis=1)


def duality_gaps(x, node, intercept, coefficient, strengths) -> np.ndarray:
    """Duality gap relative to the objective, at probabilities balanced for the intercept."""
    y = x[:, node]
    eta = intercept[:, None] + coefficient @ x.T
    p = 0.5 * (1 + np.tanh(eta / 2))
    ones, total = y.sum(), p.sum(axis=1, keepdims=True)
    low = 1 - (1 - p) * (y.size - ones) / (y.size - total)
    residual = y - np.where(total >= ones, p * (ones / total), low)
    others = np.delete(x, node, axis=1)
    largest = np.abs(residual @ others).max(axis=1) / y.size
    u = y - np.minimum(1.0, strengths / largest)[:, None] * residual
    u = np.clip(u, 1e-300, 1 - 1e-16)
    dual = (-u * np.log(u) - (1 - u) * np.log1p(-u)).mean(axis=1)
    primal = objectives(x, node, intercept, coefficient, strengths)
    return (primal - dual) / primal


class Case:
    """One table, some of its nodes and their strengths."""

    def __init__(self, name: str, rows: np.ndarray, n_nodes: int, share: float) -> None:
        self.name, self.rows = name, rows
        self.x, self.columns = rows.astype(float), np.ascontiguousarray(rows.T)
        self.nodes = np.linspace(0, len(self.columns) - 1, n_nodes).astype(int)
        tops = largest_strengths(self.columns)[self.nodes]
        self.strengths = np.geomspace(tops, share * tops, N_STRENGTHS, axis=1)
        self.best = [
            objectives(self.x, i, *solve_node(self.columns, i, s, 1e-13)[:2], s)
            for i, s in zip(self.nodes, self.strengths, strict=True)
        ]

    def gaps(self, k: int, intercept, coefficient) -> tuple[float, float]:
        """Distance to the optimum and duality gap of the path of the k-th node."""
        arguments = (self.x, self.nodes[k], intercept, coefficient, self.strengths[k])
        distance = objectives(*arguments) / self.best[k] - 1
        return float(distance.max()), float(duality_gaps(*arguments).max())

    def ours(self) -> tuple[float, float, float]:
        """CPU seconds a path, and the two gaps."""
        seconds, found = [], []
        for k, node in enumerate(self.nodes):
            solve = lambda i=node, s=self.strengths[k]: solve_node(self.columns, i, s, GAP)  # noqa: E731
            found.append(self.gaps(k, *solve()[:2]))
            repeated = lambda f=solve: [f() for _ in range(5)]  # noqa: E731
            seconds.append(best_times({"path": repeated}, 3)["path"] / 5)
        return float(np.mean(seconds)), *np.max(found, axis=0)

    def theirs(self, thresholds) -> dict[float, tuple[float, float, float]]:
        """Return the same of glmnet at each threshold."""
        results = {}
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            np.savetxt(place / "rows.csv", self.rows, fmt="%d", delimiter=",")
            np.savetxt(place / "strengths.csv", self.strengths, fmt="%.17g", delimiter=",")
            np.savetxt(place / "nodes.csv", self.nodes[None], fmt="%d", delimiter=",")
            (place / "path.R").write_text(SCRIPT)
            names = ",".join(f"{threshold:g}" for threshold in thresholds)
            subprocess.run(["Rscript", str(place / "path.R"), folder, names], check=True)
            for threshold in thresholds:
                seconds, found = [], []
                for k, node in enumerate(self.nodes):
                    part = np.loadtxt(place / f"{threshold:g}_{k}.csv", delimiter=",")
                    if len(part) < N_STRENGTHS:  # glmnet gave up on the smallest strengths
                        found.append((np.inf, np.inf))
                    else:
                        coefficient = np.insert(part[:, 3:], node, 0.0, axis=1)
                        found.append(self.gaps(k, part[:, 2], coefficient))
                    seconds.append(part[0, 0])
                results[threshold] = (float(np.mean(seconds)), *np.max(found, axis=0))
        return results


def cases(quick: bool) -> list[Case]:
    n_nodes = 2 if quick else 8
    made = [
        ("block, 12 nodes, N=1000", make_block(1000, random_state=1).rows, 1e-3),
        ("lattice, 100 nodes, N=100", make_lattice(100, random_state=0).rows, 1e-2),
        ("lattice, 100 nodes, N=1000", make_lattice(1000, random_state=0).rows, 1e-3),
    ]
    return [Case(name, rows, n_nodes, share) for name, rows, share in made]


def paths(quick: bool) -> str:
    """Section on paths of one node."""
    title = "L1 path of one node beside glmnet"
    rows, thresholds = [], THRESHOLDS[:2] if quick else THRESHOLDS
    compared = has_glmnet()
    for case in cases(quick):
        own = case.ours()
        rows.append((case.name, "slabfield", *_shown(own), "", ""))
        for threshold, their in (case.theirs(thresholds) if compared else {}).items():
            ratio = own[0] / their[0]
            good = verdict(ratio <= LIMIT)
            rows.append((
                case.name, f"glmnet, thresh {threshold:g}", *_shown(their), f"{ratio:.2f}", good
            ))  # fmt: skip
    head = (
        "data", "solver", "ms a path", "distance to optimum", "duality gap", "slabfield / glmnet",
        f"at most {LIMIT:.0f}",
    )  # fmt: skip
    note = "" if compared else " glmnet was not found: install R and r-cran-glmnet to compare."
    return section(
        title,
        f"CPU milliseconds for {N_STRENGTHS} strengths, the mean over nodes of the least of three "
        "rounds; gaps relative to the objective, the largest over strengths and nodes. slabfield "
        f"is asked for a duality gap of {GAP:g}. Compare at the same distance to the optimum: the "
        f"rows of glmnet that reach it have the smaller thresholds.{note}",
        table(head, rows),
    )


def _shown(result: tuple[float, float, float]) -> tuple[str, str, str]:
    seconds, distance, gap = result
    return f"{1e3 * seconds:.2f}", f"{max(distance, 0):.1e}", f"{gap:.1e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few nodes and thresholds")
    print(f"{setting()}\n\n{paths(parser.parse_args().quick)}")


if __name__ == "__main__":
    main()
