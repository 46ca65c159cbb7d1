"""One binary pairwise field: numbers for every bias and coupling."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import fsum

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def _frozen(values: ArrayLike) -> Array:
    copy = np.array(values, dtype=np.float64)
    copy.flags.writeable = False
    return copy


@dataclass(frozen=True, eq=False)
class BinaryField:
    r"""A pairwise field over states in {0, 1}, with known parameters.

    .. math:: \log P(x) = \sum_i b_i x_i + \sum_{i<j} \theta_{ij} x_i x_j - \log Z

    (equation 1 of ``docs/maths.md``).

    Parameters
    ----------
    bias : array of shape (D,)
        Biases on the 0/1 scale.
    coupling : array of shape (D, D)
        Symmetric couplings on the 0/1 scale, zero on the diagonal. An edge is absent exactly
        where its coupling is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.models.field import BinaryField
    >>> field = BinaryField.from_ising(bias=[0.1, -0.2], coupling=[[0, 0.5], [0.5, 0]])
    >>> field.coupling[0, 1]
    np.float64(2.0)
    >>> field.n_edges
    1
    """

    bias: Array
    coupling: Array = field(repr=False)

    def __post_init__(self) -> None:
        bias, coupling = _frozen(self.bias), _frozen(self.coupling)
        if bias.ndim != 1 or coupling.shape != (bias.size, bias.size):
            raise ValueError(
                "A field needs a bias per node and a square matrix of couplings; found shapes "
                f"{bias.shape} and {coupling.shape}. Pass bias of shape (D,), coupling (D, D)."
            )
        if not np.array_equal(coupling, coupling.T) or np.any(np.diag(coupling)):
            raise ValueError(
                "The couplings of a field must be symmetric with a zero diagonal; these are not. "
                "Symmetrize them, and add the diagonal to the biases."
            )
        object.__setattr__(self, "bias", bias)
        object.__setattr__(self, "coupling", coupling)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, D."""
        return int(self.bias.size)

    @property
    def n_states(self) -> NDArray[np.int64]:
        """Two states for every node."""
        return np.full(self.n_nodes, 2, dtype=np.int64)

    @property
    def edges(self) -> NDArray[np.bool_]:
        """Which couplings are nonzero, as a symmetric (D, D) matrix."""
        return np.asarray(self.coupling != 0)

    @property
    def edge_strengths(self) -> Array:
        """One number for every edge: its coupling, symmetric (D, D)."""
        return self.coupling

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(np.count_nonzero(np.triu(self.coupling, 1)))

    @classmethod
    def from_ising(cls, bias: ArrayLike, coupling: ArrayLike) -> BinaryField:
        """Convert a field over states in {-1, +1} (equation 3 of ``docs/maths.md``)."""
        h, j = np.asarray(bias, dtype=float), np.asarray(coupling, dtype=float)
        converted = [fsum([2 * h[i], *(-2 * j[i])]) for i in range(h.size)]
        return cls(np.array(converted), 4 * j)

    def to_ising(self) -> tuple[Array, Array]:
        """Biases and couplings of the same field over states in {-1, +1} (equation 4)."""
        bias = [fsum([self.bias[i] / 2, *(self.coupling[i] / 4)]) for i in range(self.n_nodes)]
        return np.array(bias), self.coupling / 4

    def node_energy(self, node: int) -> Array:
        """Log weight of 0 and of 1 from the bias of a node alone."""
        return np.array([0.0, self.bias[node]])

    def pair_energy(self, i: int, j: int) -> Array:
        """Log weight of every two states of a pair from its coupling alone, (2, 2)."""
        return np.array([[0.0, 0.0], [0.0, self.coupling[i, j]]])

    def log_potential(self, rows: ArrayLike) -> Array:
        """Unnormalized log probability of each row of 0/1 states."""
        x = np.asarray(rows, dtype=float)
        pairs: Array = 0.5 * np.einsum("ni,ij,nj->n", x, self.coupling, x)
        return x @ self.bias + pairs
