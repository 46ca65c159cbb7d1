"""Rows sampled from a known field, exactly wherever that is feasible."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from slabfield.datasets.gibbs_rows import gibbs_rows
from slabfield.inference import elimination, enumeration
from slabfield.inference.elimination_order import readable_bytes
from slabfield.models.field import BinaryField
from slabfield.validation import (
    InputError,
    Parameter,
    check_choice,
    check_number,
    check_positive_int,
)

Method = Literal["auto", "enumeration", "elimination", "gibbs"]
RandomState = int | np.random.Generator | None

N_SWEEPS = 1_000
"""Default number of sweeps of ``method="gibbs"``."""


class Simulated(NamedTuple):
    """A field and rows drawn from it.

    Examples
    --------
    >>> from slabfield.datasets import make_block
    >>> field, rows, method = make_block(100, random_state=1)
    >>> field.n_nodes, rows.shape, method
    (12, (100, 12), 'enumeration')
    """

    field: BinaryField
    """The true field."""
    rows: NDArray[np.uint8]
    """Independent draws from it, 0 or 1, shape (n, D)."""
    method: str
    """How they were sampled: 'enumeration', 'elimination' or 'gibbs'."""


def draw_rows(
    field: BinaryField,
    n_rows: int,
    random_state: RandomState = None,
    method: Method = "auto",
    *,
    memory_limit: int = elimination.MEMORY_LIMIT,
    n_sweeps: int = N_SWEEPS,
) -> NDArray[np.uint8]:
    """Sample rows from a known field, such as test rows from a field that was simulated earlier.

    Parameters
    ----------
    field : BinaryField
        The field to sample from.
    n_rows : int
        Number of rows.
    random_state : int, numpy.random.Generator or None
        Source of randomness.
    method : {'auto', 'enumeration', 'elimination', 'gibbs'}
        'auto' samples exactly: by enumeration up to 20 nodes, else by variable elimination if its
        tables fit the memory limit, and else refuses. 'gibbs' samples approximately, at any size:
        every row is the last state of its own Gibbs run from a uniformly random state. 'auto'
        never falls back to it.
    memory_limit : int
        Upper limit on the bytes of the tables of 'elimination'.
    n_sweeps : int
        Number of sweeps of each run of 'gibbs'. The default of 1,000 is long for fields that mix
        within tens of sweeps, such as sparse ones with Ising couplings of about 0.5. A field with
        strong couplings or several modes may need far more, or never forget its initial state.

    Returns
    -------
    array of shape (n_rows, D), uint8
        The rows.

    Examples
    --------
    >>> from slabfield.datasets import draw_rows, make_block
    >>> field = make_block(100, random_state=1).field
    >>> draw_rows(field, 5, random_state=2).shape
    (5, 12)
    """
    rng = np.random.default_rng(random_state)
    return _draw(field, n_rows, rng, method, memory_limit, n_sweeps)[0]


def two_streams(random_state: RandomState) -> tuple[np.random.Generator, np.random.Generator]:
    """Split a seed into a random stream for the field and one for the rows.

    The field then does not depend on the number of rows.

    Parameters
    ----------
    random_state : int, numpy.random.Generator or None
        Source of randomness. The same generator object yields other streams on each call.

    Returns
    -------
    field_rng, row_rng : numpy.random.Generator
        Two independent generators.

    Examples
    --------
    >>> from slabfield.datasets.simulated import two_streams
    >>> field_rng, row_rng = two_streams(0)
    >>> field_rng.random() == row_rng.random()
    False
    """
    field_rng, row_rng = np.random.default_rng(random_state).spawn(2)
    return field_rng, row_rng


def simulate(
    field: BinaryField,
    n_rows: int,
    rng: np.random.Generator,
    method: Method,
    memory_limit: int,
    n_sweeps: int,
) -> Simulated:
    """Sample rows from a field, and record how they were sampled.

    Parameters
    ----------
    field, n_rows, method, memory_limit, n_sweeps
        As in `draw_rows`.

    Returns
    -------
    Simulated
        The field, the rows, and the method used.
    """
    rows, used = _draw(field, n_rows, rng, method, memory_limit, n_sweeps)
    return Simulated(field, rows, used)


def ising_field(
    edges: NDArray[np.bool_],
    rng: np.random.Generator,
    coupling_scale: float,
    bias_scale: float,
    positive: NDArray[np.bool_] | None = None,
) -> BinaryField:
    """Draw a field with normal Ising couplings on given edges, and normal Ising biases.

    Parameters
    ----------
    edges : array of shape (D, D), bool
        Which pairs have an edge; only entries above the diagonal are read.
    rng : numpy.random.Generator
        Source of randomness: one normal number for each edge, then one for each node.
    positive : array of shape (D, D), bool, optional
        Pairs whose coupling is replaced by its absolute value.

    Returns
    -------
    BinaryField
        The same field on the 0/1 scale.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.datasets.simulated import ising_field
    >>> ising_field(np.eye(5, k=1) > 0, np.random.default_rng(0), 0.5, 0.1).n_edges
    4
    """
    check_number("coupling_scale", coupling_scale, low=0)
    check_number("bias_scale", bias_scale, low=0)
    n_nodes = len(edges)
    first, second = np.nonzero(np.triu(edges, 1))
    values = rng.normal(0.0, coupling_scale, first.size)
    if positive is not None:
        values = np.where(positive[first, second], np.abs(values), values)
    coupling = np.zeros((n_nodes, n_nodes))
    coupling[first, second] = coupling[second, first] = values
    return BinaryField.from_ising(rng.normal(0.0, bias_scale, n_nodes), coupling)


def _draw(
    field: BinaryField,
    n_rows: int,
    rng: np.random.Generator,
    method: Method,
    memory_limit: int,
    n_sweeps: int,
) -> tuple[NDArray[np.uint8], str]:
    n_rows = check_positive_int("n_rows", n_rows)
    n_sweeps = check_positive_int("n_sweeps", n_sweeps)
    memory_limit = check_positive_int("memory_limit", memory_limit)
    check_choice("method", method, get_args(Method))
    if method == "gibbs":
        return gibbs_rows(field, n_rows, rng, n_sweeps), "gibbs"
    small = field.n_nodes <= enumeration.MAX_NODES
    if method == "enumeration" or (method == "auto" and small):
        return enumeration.sample(field, n_rows, rng), "enumeration"
    try:
        return elimination.sample(field, n_rows, rng, memory_limit), "elimination"
    except elimination.TableTooLargeError as error:
        raise InputError(
            "exact-draws-too-large",
            "Exact draws from this field of {n_nodes} nodes and {n_edges} edges are out of reach; "
            "the tables of variable elimination need at least {needed}, and {memory_limit} is "
            "{limit}. Ask for approximate draws with {gibbs}, raise {memory_limit}, or make the "
            "graph smaller or sparser.",
            n_nodes=field.n_nodes,
            n_edges=field.n_edges,
            needed=readable_bytes(error.needed_bytes),
            memory_limit=Parameter("memory_limit"),
            limit=readable_bytes(error.memory_limit),
            gibbs=Parameter("method", "gibbs"),
        ) from error
