"""Paths of the L1-penalized pseudo-likelihood: proximal Newton steps on a working set of edges."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slabfield.kernels import l1_pairs as kernels
from slabfield.kernels.l1_nodes import MOST_HALVINGS, POOR, ROUNDING, SUFFICIENT

Array = NDArray[np.float64]

INNER_SHARE = 0.1
"""Tolerance on gradients in coordinate descent, relative to strength times relative gap."""


class PairPath(NamedTuple):
    """Solutions for decreasing strengths: bias (K, D), coupling (K, D, D), relative gap (K,)."""

    bias: Array
    coupling: Array
    gap: Array


class WorkingSet:
    """The edges that may be nonzero, with their gradients and Hessians for Newton steps."""

    def __init__(self, n_nodes: int, n_rows: int) -> None:
        self._clear(n_nodes)
        self.weight = np.zeros((n_nodes, n_rows))

    def _clear(self, n_nodes: int) -> None:
        empty = np.zeros(0, np.int64)
        self.first, self.second = empty, empty
        self.place_first, self.place_second = empty, empty
        self.value = np.zeros(0)
        self.neighbors = np.zeros((n_nodes, n_nodes), np.int64)
        self.degree = np.zeros(n_nodes, np.int64)
        self.inside = np.zeros((n_nodes, n_nodes), np.bool_)
        self.gradient, self.margin = np.zeros((n_nodes, n_nodes)), np.zeros((n_nodes, n_nodes))
        self._built, self._start = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
        self._flat = np.zeros(0)

    def admit(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> None:
        """Add edges, with coupling 0."""
        places = np.zeros((2, first.size), np.int64)
        for e, (i, j) in enumerate(zip(first, second, strict=True)):
            places[:, e] = self.degree[i], self.degree[j]
            self.neighbors[i, self.degree[i]] = j
            self.neighbors[j, self.degree[j]] = i
            self.degree[i] += 1
            self.degree[j] += 1
        self.inside[first, second] = self.inside[second, first] = True
        self.first = np.concatenate([self.first, first])
        self.second = np.concatenate([self.second, second])
        self.place_first = np.concatenate([self.place_first, places[0]])
        self.place_second = np.concatenate([self.place_second, places[1]])
        self.value = np.concatenate([self.value, np.zeros(first.size)])

    def restart(self, keep: NDArray[np.bool_], weight: Array) -> None:
        """Keep only some edges, and recompute Hessians with the given weights."""
        first, second, value = self.first[keep], self.second[keep], self.value[keep]
        self._clear(self.degree.size)
        self.weight = weight.copy()
        self.admit(first, second)
        self.value = value

    def build(self, columns: NDArray[np.uint8]) -> tuple[Array, NDArray[np.int64]]:
        """Return the Hessians of all nodes, extended by the edges added since the last call."""
        if np.array_equal(self._built, self.degree):
            return self._flat, self._start
        start = np.concatenate([[0], np.cumsum(self.degree**2)[:-1]])
        flat = np.zeros(int((self.degree**2).sum()))
        kernels.extend_grams(
            columns, self.neighbors, self._built, self.degree, self._start, start, self._flat,
            flat, self.weight, self.margin,
        )  # fmt: skip
        self._built, self._start, self._flat = self.degree.copy(), start, flat
        return flat, start


class PairSolver:
    """Solver of one regularization path: the current solution and its statistics."""

    def __init__(self, rows: NDArray[np.uint8], tolerance: float, most_steps: int) -> None:
        self.columns = np.ascontiguousarray(rows.T)
        self.dense = self.columns.astype(np.float64)
        self.n_nodes, self.n_rows = self.columns.shape
        self.tolerance, self.most_steps = tolerance, most_steps
        self.ones = self.dense.sum(axis=1)
        self.nodes = np.flatnonzero((self.ones > 0) & (self.ones < self.n_rows))
        # the bias of a constant column would be infinite: half a row of each value is added
        extra = np.where(np.isin(np.arange(self.n_nodes), self.nodes), 0.0, 0.5)
        self.bias = np.log((self.ones + extra) / (self.n_rows - self.ones + extra))
        self.eta = np.repeat(self.bias[:, None], self.n_rows, axis=1)
        self.residual, self.weight = np.zeros_like(self.eta), np.zeros_like(self.eta)
        self.residual_sum, self.change = np.zeros(self.n_nodes), np.zeros_like(self.eta)
        self.edges = WorkingSet(self.n_nodes, self.n_rows)
        varying = np.isin(np.arange(self.n_nodes), self.nodes)
        self.allowed = np.triu(np.outer(varying, varying), 1)
        self.cross = self.dense @ self.dense.T
        self._measure()

    def largest_strength(self) -> float:
        """Return the smallest strength at which every coupling is 0; call it before `solve`."""
        correlation = self._correlations()
        both = np.where(self.allowed, np.abs(correlation + correlation.T), 0.0)
        return float(both.max(initial=0.0) / (2 * self.n_rows))

    def solve(self, strengths: Array) -> PairPath:
        """Solve for decreasing strengths, each with a warm start from the one before."""
        shape = (strengths.size, self.n_nodes, self.n_nodes)
        path = PairPath(np.zeros(shape[:2]), np.zeros(shape), np.zeros(strengths.size))
        correlation = self._correlations()
        outdated = True
        for k, strength in enumerate(strengths):
            total = 2 * strength * self.n_rows
            correlation, outdated, path.gap[k] = self._solve_one(total, correlation, outdated)
            edges = self.edges
            path.bias[k] = self.bias
            path.coupling[k, edges.first, edges.second] = edges.value
            path.coupling[k, edges.second, edges.first] = edges.value
        return path

    def _solve_one(self, strength: float, correlation: Array, outdated: bool) -> Any:
        """Solve for one strength; ``outdated`` says that the Hessians must be recomputed."""
        self._admit(correlation, strength)
        edges, target_gap, previous = self.edges, self.tolerance, np.inf
        for step in range(self.most_steps + 1):
            gradient = self._gradients()
            objective = self.loss + strength * np.abs(edges.value).sum()
            offset = float(self.bias[self.nodes] @ self.residual_sum[self.nodes])
            approximate_gap = kernels.near_gap(
                edges.value, gradient, offset, strength, self.dual_curvature
            )
            if approximate_gap <= target_gap * objective or step == self.most_steps:
                correlation = self._correlations()
                gap = self._gap(correlation, objective, strength)
                if gap <= self.tolerance * objective or step == self.most_steps:
                    break
                if not self._admit(correlation, strength):
                    target_gap *= 0.1
                previous = np.inf
                gradient = self._gradients()
            elif approximate_gap > POOR * previous or outdated:
                keep = (edges.value != 0) | (np.abs(gradient) > strength)
                edges.restart(keep, self.weight)
                gradient = self._gradients()
            previous = approximate_gap
            share = max(target_gap, 0.1 * approximate_gap / objective)
            outdated = self._step(strength, gradient, objective, INNER_SHARE * share)
        return correlation, outdated, gap / objective

    def _step(self, strength: float, gradient: Array, objective: float, share: float) -> bool:
        """Take one Newton step with a line search; return whether it was shortened."""
        edges = self.edges
        flat, start = edges.build(self.columns)
        total = np.where(edges.weight.any(axis=1), edges.weight.sum(axis=1), 1.0)
        edges.gradient += edges.margin * (self.residual_sum / total)[:, None]
        before, moved = edges.value.copy(), np.zeros(edges.value.size)
        kernels.pair_descend(
            edges.first, edges.second, edges.place_first, edges.place_second, flat, start,
            edges.degree, edges.gradient, edges.value, moved, strength, share * strength,
        )  # fmt: skip
        shift = self.residual_sum.copy()
        np.add.at(shift, edges.first, -edges.margin[edges.first, edges.place_first] * moved)
        np.add.at(shift, edges.second, -edges.margin[edges.second, edges.place_second] * moved)
        shift /= total
        directional = float(
            gradient @ moved
            + strength * (np.abs(edges.value).sum() - np.abs(before).sum())
            - shift @ self.residual_sum
        )
        kernels.predictor_change(self.columns, edges.first, edges.second, moved, shift, self.change)
        scale = 1.0
        self.eta += self.change
        for _ in range(MOST_HALVINGS):
            self._measure()
            edges.value = before + scale * moved
            reached = self.loss + strength * np.abs(edges.value).sum()
            if reached <= objective + SUFFICIENT * scale * directional + ROUNDING * objective:
                break
            scale *= 0.5
            self.eta -= scale * self.change
        self.bias += scale * shift
        return scale < 1.0

    def _measure(self) -> None:
        self.loss, self.dual_curvature = kernels.all_statistics(
            self.eta, self.columns, self.nodes, self.residual, self.weight, self.residual_sum
        )

    def _correlations(self) -> Array:
        """Sums of x_j times the residual of node i, at (j, i)."""
        product: Array = self.dense @ self.residual.T
        return product

    def _gradients(self) -> Array:
        """Gradient of the loss in the couplings of the working set, which stores it by node."""
        edges = self.edges
        kernels.edge_gradients(
            self.columns, self.residual, edges.first, edges.second, edges.place_first,
            edges.place_second, edges.gradient,
        )  # fmt: skip
        both: Array = (
            edges.gradient[edges.first, edges.place_first]
            + edges.gradient[edges.second, edges.place_second]
        )
        return both

    def _admit(self, correlation: Array, strength: float) -> bool:
        both = np.abs(correlation + correlation.T)
        first, second = np.nonzero(self.allowed & ~self.edges.inside & (both > strength))
        self.edges.admit(first, second)
        return bool(first.size)

    def _gap(self, correlation: Array, objective: float, strength: float) -> float:
        """Duality gap at a feasible point of the dual, scaled from the residuals."""
        above, factor = np.ones(self.n_nodes, np.bool_), np.ones(self.n_nodes)
        kernels.scale_nodes(self.nodes, self.ones, self.n_rows, self.residual_sum, above, factor)
        count = self.ones[:, None]
        scaled = np.where(
            above,
            (1 - factor) * self.cross + factor * correlation,
            self.cross - count + factor * (count - self.cross + correlation),
        )
        largest = float(np.where(self.allowed, np.abs(scaled + scaled.T), 0.0).max(initial=0.0))
        shrink = strength / largest if largest > strength else 1.0
        return float(
            objective
            - kernels.dual_total(self.nodes, self.columns, self.residual, above, factor, shrink)
        )
