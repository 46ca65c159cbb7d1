"""Rows drawn from a known field, exactly wherever that is possible."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from slabfield.checks import InputError, check_choice, check_number, check_positive_int
from slabfield.datasets.gibbs import gibbs_rows
from slabfield.exact import elimination, enumeration
from slabfield.exact.planning import readable_bytes
from slabfield.models.field import BinaryField

Method = Literal["auto", "enumeration", "elimination", "gibbs"]
RandomState = int | np.random.Generator | None

N_SWEEPS = 1_000
"""Sweeps of ``method="gibbs"`` where nothing else is said."""


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
    """The truth."""
    rows: NDArray[np.uint8]
    """Independent draws from it, 0 or 1, shape (n, D)."""
    method: str
    """How they were drawn: 'enumeration', 'elimination' or 'gibbs'."""


def draw_rows(
    field: BinaryField,
    n_rows: int,
    random_state: RandomState = None,
    method: Method = "auto",
    *,
    memory_limit: int = elimination.MEMORY_LIMIT,
    n_sweeps: int = N_SWEEPS,
) -> NDArray[np.uint8]:
    """Draw rows from a field, such as test rows from a field that was made before.

    Parameters
    ----------
    field : BinaryField
        What to draw from.
    n_rows : int
        How many rows.
    random_state : int, numpy.random.Generator or None
        Source of randomness.
    method : {'auto', 'enumeration', 'elimination', 'gibbs'}
        'auto' draws exactly: by enumeration up to 20 nodes, else by variable elimination where
        its tables fit the memory limit, and else refuses. 'gibbs' draws approximately, at any
        size: every row is the end of its own Gibbs run from a state of fair coins. It is never
        taken unasked.
    memory_limit : int
        Most bytes of tables for 'elimination'.
    n_sweeps : int
        Length of the run behind each row, for 'gibbs'. The default of 1,000 is long for fields
        that mix within tens of sweeps, as sparse ones with Ising couplings of about 0.5 do; a
        field with strong couplings or several modes may need far more, or never forget its start.

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
    """Split a seed into a stream for the field and one for the rows.

    The field then does not depend on how many rows are drawn.

    Parameters
    ----------
    random_state : int, numpy.random.Generator or None
        Source of randomness. A generator that is given again yields other streams.

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
    """Draw rows and say how they were drawn.

    Parameters
    ----------
    field, n_rows, method, memory_limit, n_sweeps
        As in `draw_rows`.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    Simulated
        The field, the rows, and the method used.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.datasets.simulated import simulate
    >>> from slabfield.models.field import BinaryField
    >>> coins = BinaryField(np.zeros(30), np.zeros((30, 30)))
    >>> simulate(coins, 5, np.random.default_rng(0), "auto", 2**30, 1_000).method
    'elimination'
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
    """Field with Gaussian Ising couplings on given edges, and Gaussian Ising biases.

    Parameters
    ----------
    edges : array of shape (D, D), bool
        Which pairs have an edge; the part above the diagonal is read.
    rng : numpy.random.Generator
        Source of randomness: one normal number for each edge, then one for each node.
    coupling_scale, bias_scale : float
        Standard deviations.
    positive : array of shape (D, D), bool, optional
        Pairs whose coupling is taken without its sign.

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
            f"Exact draws from this field of {field.n_nodes} nodes and {field.n_edges} edges are "
            "out of reach; the tables of variable elimination need at least "
            f"{readable_bytes(error.needed_bytes)}, and memory_limit is "
            f"{readable_bytes(error.memory_limit)}. Ask for approximate draws by name with "
            'method="gibbs", raise memory_limit, or make the graph smaller or sparser.'
        ) from error
