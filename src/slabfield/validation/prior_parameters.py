"""Checks of the inclusion prior of edges and of the slab prior of their couplings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from slabfield.validation.errors import InputError, Parameter, shown_value
from slabfield.validation.parameters import is_number

Array = NDArray[np.float64]

# Both parameters of the default Beta and Gamma priors
DEFAULT_SHAPE = 5.0

# Found by trial: with bias_scale=300, sigma0=100 or a slab prior of (0.1, 0.1), exponentials of
# couplings overflow, and results are NaN
MAX_BIAS_SCALE = 100.0
MAX_SLAB_SCALE = 30.0
# A value of sigma0 that the prior must make improbable
EXTREME_SLAB_SCALE = 100.0
# Largest prior probability of a sigma0 above that value
MAX_EXTREME_PROBABILITY = 0.01


class PairIndex(Protocol):
    """The index of all pairs of nodes; see `slabfield.models.interactions.Interactions`."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""

    def __len__(self) -> int:
        """Number of pairs."""

    def find(self, i: int, j: int) -> int:
        """Index of the pair of nodes i and j, in either order."""

    def labels(
        self, names: Sequence[str], which: Sequence[int], separator: str = " - "
    ) -> list[str]:
        """Names of the nodes of some pairs, joined."""

    def of_matrix(self, matrix: NDArray[Any]) -> NDArray[Any]:
        """Entries of a matrix above the diagonal, one for each pair."""


class InclusionPrior(NamedTuple):
    """The prior probability of each edge, learned or fixed.

    Parameters
    ----------
    a, b : float
        p0 ~ Beta(a, b) for the edges whose probability is learned.
    fixed : array of shape (D (D - 1) / 2,)
        One number per edge, in the order of the interactions: 0 forbids it, 1 forces it, a number
        in between is its prior probability, NaN if that is learned.
    """

    a: float
    b: float
    fixed: Array


class SlabPrior(NamedTuple):
    """The prior of the standard deviation of couplings, sigma0: learned or fixed.

    Parameters
    ----------
    c, d : float
        sigma0^-2 ~ Gamma(shape c, rate d).
    fixed : float
        The value sigma0 is fixed to, NaN if it is learned.
    """

    c: float
    d: float
    fixed: float


def check_inclusion_prior(
    value: object, interactions: PairIndex, names: Sequence[str] | None = None
) -> InclusionPrior:
    """Check and convert the prior of edge inclusion.

    Parameters
    ----------
    value : pair of numbers, number or array of shape (D, D)
        A pair (a, b): p0 is learned, with p0 ~ Beta(a, b). One number strictly between 0 and 1:
        p0 is fixed to it. A symmetric matrix: 0 forbids an edge, 1 forces it, a number in between
        fixes its prior probability, and NaN leaves it to p0 ~ Beta(5, 5). Its diagonal is ignored.
    interactions : Interactions
        All pairs of the D nodes.
    names : sequence of str, optional
        Names of the nodes, for the messages.
    """
    n_edges = len(interactions)
    if is_number(value):
        probability = float(value)  # type: ignore[arg-type]
        if not 0 < probability < 1:
            raise InputError(
                "inclusion-prior-not-a-probability",
                "{parameter}, as one number, must lie strictly between 0 and 1; got {value:g}. "
                "Pass for example 0.1, or a matrix to forbid (0) or force (1) single edges.",
                parameter=Parameter("inclusion_prior"),
                value=probability,
            )
        return InclusionPrior(DEFAULT_SHAPE, DEFAULT_SHAPE, np.full(n_edges, probability))
    numbers = _as_numbers(value)
    if numbers is None or numbers.ndim not in (1, 2):
        raise InputError(
            "invalid-inclusion-prior",
            "{parameter} must be a pair (a, b), one number or a matrix with a row and a column for "
            "each node; got {value}. Pass for example (5, 5), which learns how dense the graph is.",
            parameter=Parameter("inclusion_prior"),
            value=shown_value(value),
        )
    if numbers.ndim == 1:
        a, b = _positive_pair("inclusion_prior", numbers, "a number between 0 and 1 to fix p0")
        return InclusionPrior(a, b, np.full(n_edges, np.nan))
    return InclusionPrior(
        DEFAULT_SHAPE, DEFAULT_SHAPE, _edge_probabilities(numbers, interactions, names)
    )


def check_slab_prior(value: object) -> SlabPrior:
    """Check and convert the prior of coupling strength.

    Parameters
    ----------
    value : pair of numbers or number
        A pair (c, d): sigma0 is learned, with sigma0^-2 ~ Gamma(shape c, rate d). One positive
        number: sigma0 is fixed to it.
    """
    if is_number(value):
        scale = float(value)  # type: ignore[arg-type]
        if not 0 < scale < np.inf:
            raise InputError(
                "slab-prior-not-positive",
                "{parameter}, as one number, must be positive (it is sigma0); got {value:g}. Pass "
                "for example 1.0, or a pair (5, 5) to learn it.",
                parameter=Parameter("slab_prior"),
                value=scale,
            )
        if scale > MAX_SLAB_SCALE:
            raise InputError(
                "slab-prior-too-wide",
                "{parameter}, as one number, must be at most {limit:g} (a coupling of 10 makes "
                "odds 22,000 times as large); got {value:g}. Pass for example 1.0, or a pair (5, "
                "5) to learn it.",
                parameter=Parameter("slab_prior"),
                limit=MAX_SLAB_SCALE,
                value=scale,
            )
        return SlabPrior(DEFAULT_SHAPE, DEFAULT_SHAPE, scale)
    numbers = _as_numbers(value)
    if numbers is None or numbers.ndim != 1:
        raise InputError(
            "invalid-slab-prior",
            "{parameter} must be a pair (shape, rate) of positive numbers or one positive number; "
            "got {value}. Pass for example (5, 5).",
            parameter=Parameter("slab_prior"),
            value=shown_value(value),
        )
    c, d = _positive_pair("slab_prior", numbers, "one positive number to fix sigma0")
    probability = _probability_above(c, d, EXTREME_SLAB_SCALE)
    if probability > MAX_EXTREME_PROBABILITY:
        raise InputError(
            "slab-prior-pair-too-wide",
            "{parameter}, as a pair (shape, rate) for sigma0^-2 ~ Gamma, must have sigma0 above "
            "{extreme:g} with probability {limit:g} at most; with ({shape:g}, {rate:g}) it is "
            "{probability:.2g}. Pass a larger shape or a smaller rate, for example (5, 5).",
            parameter=Parameter("slab_prior"),
            extreme=EXTREME_SLAB_SCALE,
            limit=MAX_EXTREME_PROBABILITY,
            shape=c,
            rate=d,
            probability=probability,
        )
    return SlabPrior(c, d, float("nan"))


def _probability_above(c: float, d: float, scale: float) -> float:
    """Return the prior probability that sigma0 exceeds a scale."""
    from scipy.special import gammainc

    return float(gammainc(c, d / scale**2))


def _as_numbers(value: object) -> Array | None:
    """Return the value as an array of floats, or None if it cannot be converted."""
    if value is None or isinstance(value, (str, bytes)):
        return None
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _positive_pair(name: str, numbers: Array, otherwise: str) -> tuple[float, float]:
    if numbers.shape != (2,) or not np.all(np.isfinite(numbers)) or np.any(numbers <= 0):
        raise InputError(
            "invalid-prior-pair",
            "{parameter}, as a pair, must be two positive numbers; got {value}. Pass for example "
            "(5, 5), or {otherwise}.",
            parameter=Parameter(name),
            value=shown_value(numbers.tolist()),
            otherwise=otherwise,
        )
    return float(numbers[0]), float(numbers[1])


def _edge_probabilities(
    matrix: Array, interactions: PairIndex, names: Sequence[str] | None
) -> Array:
    """Return the upper triangle of a checked matrix."""
    n_nodes = interactions.n_nodes
    if matrix.shape != (n_nodes, n_nodes):
        raise InputError(
            "inclusion-prior-wrong-shape",
            "{parameter}, as a matrix, must have a row and a column for each of the {n_nodes} "
            "nodes; got shape {shape}. Pass a {n_nodes} x {n_nodes} matrix.",
            parameter=Parameter("inclusion_prior"),
            n_nodes=n_nodes,
            shape=matrix.shape,
        )
    upper, lower = interactions.of_matrix(matrix), interactions.of_matrix(matrix.T)
    shown = [*map(str, range(n_nodes))] if names is None else [*map(repr, names)]

    def pair(edge: int) -> str:
        return f"({interactions.labels(shown, [edge], separator=', ')[0]})"

    for triangle in (upper, lower):
        outside = np.flatnonzero((triangle < 0) | (triangle > 1))
        if outside.size:
            first = int(outside[0])
            raise InputError(
                "inclusion-prior-out-of-range",
                "{parameter}, as a matrix, must hold probabilities within [0, 1], or NaN; for the "
                "pair {pair} it holds {value:g}. Pass 0 to forbid an edge, 1 to force it, NaN to "
                "learn it.",
                parameter=Parameter("inclusion_prior"),
                pair=pair(first),
                value=triangle[first],
            )
    unequal = np.flatnonzero((upper != lower) & ~(np.isnan(upper) & np.isnan(lower)))
    if unequal.size:
        first = int(unequal[0])
        raise InputError(
            "inclusion-prior-not-symmetric",
            "{parameter}, as a matrix, must be symmetric; for the pair {pair} it holds {above:g} "
            "above the diagonal and {below:g} below. Give both the same number.",
            parameter=Parameter("inclusion_prior"),
            pair=pair(first),
            above=upper[first],
            below=lower[first],
        )
    return upper
