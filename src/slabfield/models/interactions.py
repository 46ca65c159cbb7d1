"""The index of the candidate interactions of a field: their nodes and their parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Interactions(ABC):
    """All candidate interactions of a field, numbered from 0.

    Interaction a joins ``nodes[node_start[a]:node_start[a + 1]]``, two nodes or more, and owns the
    parameters ``group_start[a]:group_start[a + 1]``, one or more. It is an edge if it joins two.
    Arrays are made when they are first asked for, and shared; they must not be written to.

    Examples
    --------
    >>> import numpy as np
    >>> from slabfield.models.interactions import Interactions
    >>> pairs = Interactions.pairs(3)
    >>> pairs.labels(["sleep", "work", "joy"])
    ['sleep - work', 'sleep - joy', 'work - joy']
    >>> pairs.find(2, 1)
    2
    >>> pairs.as_matrix([0.5, 0.1, 0.9])
    array([[0. , 0.5, 0.1],
           [0.5, 0. , 0.9],
           [0.1, 0.9, 0. ]])
    >>> several = Interactions.of_cliques(3, [(0, 1, 2), (1, 2)], group_sizes=[1, 2])
    >>> len(several), several.is_pairwise, several.group(1)
    (2, False, slice(1, 3, None))
    """

    n_nodes: int

    @staticmethod
    def pairs(n_nodes: int, sizes: Sequence[int] | None = None) -> Interactions:
        """All pairs of nodes (0, 1), (0, 2), ..., (1, 2), ...

        Each has one parameter, or the product of the sizes of its two nodes.
        """
        if sizes is None or all(size == 1 for size in sizes):
            return _AllPairs(n_nodes)
        return _AllGroups(n_nodes, tuple(int(size) for size in sizes))

    @staticmethod
    def of_cliques(
        n_nodes: int, cliques: Iterable[Sequence[int]], group_sizes: Iterable[int]
    ) -> Interactions:
        """The given cliques of nodes, each with a number of parameters."""
        nodes = tuple(tuple(int(node) for node in clique) for clique in cliques)
        return _Cliques(n_nodes, nodes, tuple(int(size) for size in group_sizes))

    @abstractmethod
    def __len__(self) -> int:
        """Number of interactions."""

    @property
    @abstractmethod
    def node_start(self) -> Integers:
        """Start of the nodes of each interaction in ``nodes``, and the end of the last."""

    @property
    @abstractmethod
    def nodes(self) -> Integers:
        """Nodes of all interactions, one interaction after the other."""

    @property
    @abstractmethod
    def group_start(self) -> Integers:
        """Start of the parameters of each interaction, and the end of the last."""

    @property
    @abstractmethod
    def is_pairwise(self) -> bool:
        """Whether every interaction joins two nodes."""

    @property
    @abstractmethod
    def ends(self) -> tuple[Integers, Integers]:
        """First and second node of every interaction, if all join two."""

    @abstractmethod
    def find(self, i: Any, j: Any) -> Any:
        """Index of the interaction of nodes i and j, in either order, if all join two.

        Arrays of nodes give an array of indices. A pair without an interaction is a ValueError.
        """

    @property
    def n_interactions(self) -> int:
        """Number of interactions."""
        return len(self)

    @property
    def n_parameters(self) -> int:
        """Number of parameters of all interactions."""
        return int(self.group_start[-1])

    def group(self, interaction: int) -> slice:
        """Slice of the parameters that an interaction owns."""
        return slice(int(self.group_start[interaction]), int(self.group_start[interaction + 1]))

    def ends_of(self, which: ArrayLike) -> tuple[Integers, Integers]:
        """First and second node of some interactions, if all join two."""
        first, second = self.ends
        return first[which], second[which]  # type: ignore[index]

    def cliques(self, which: ArrayLike | None = None) -> Iterator[tuple[int, ...]]:
        """Nodes of each interaction, or of some of them."""
        chosen = range(len(self)) if which is None else np.asarray(which, np.int64).tolist()
        for a in chosen:
            yield tuple(self.nodes[self.node_start[a] : self.node_start[a + 1]].tolist())

    def labels(
        self, names: Sequence[str], which: ArrayLike | None = None, separator: str = " - "
    ) -> list[str]:
        """Names of the nodes of each interaction, or of some interactions, joined."""
        return [separator.join([names[i] for i in clique]) for clique in self.cliques(which)]

    def as_matrix(self, values: ArrayLike, fill: Any = 0, diagonal: Any = None) -> NDArray[Any]:
        """Arrange one value per pair in a symmetric matrix, if all interactions are pairs.

        Parameters
        ----------
        values : array of shape (..., n_interactions)
            The values; the matrix has their type.
        fill : number
            Value of pairs without an interaction.
        diagonal : number, optional
            Value on the diagonal; by default ``fill``.

        Returns
        -------
        array of shape (..., D, D)
        """
        values = np.asarray(values)
        if values.shape[-1] != len(self):
            raise ValueError(
                f"There must be one value for each of the {len(self)} interactions; found "
                f"{values.shape[-1]}. Pass as many values."
            )
        shape = (*values.shape[:-1], self.n_nodes, self.n_nodes)
        matrix = np.full(shape, fill, dtype=values.dtype)
        if diagonal is not None:
            nodes = np.arange(self.n_nodes)
            matrix[..., nodes, nodes] = diagonal
        self._write(values, matrix)
        return matrix

    @abstractmethod
    def _write(self, values: NDArray[Any], matrix: NDArray[Any]) -> None:
        """Write the values of the pairs into a matrix, on both sides of the diagonal."""

    @abstractmethod
    def of_matrix(self, matrix: ArrayLike) -> NDArray[Any]:
        """Entries (first node, second node) of a (..., D, D) matrix, if all interactions are pairs.

        These are the entries above the diagonal if the first node always comes before the second.
        """

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the arrays, which are made again when they are asked for."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class _AllPairs(Interactions):
    """All pairs, by formulas: of D nodes, pair (i, j) is number i D - i (i + 1) / 2 + j - i - 1."""

    def __len__(self) -> int:
        return self.n_nodes * (self.n_nodes - 1) // 2

    @cached_property
    def node_start(self) -> Integers:
        return np.arange(0, 2 * len(self) + 1, 2, dtype=np.int64)

    @cached_property
    def nodes(self) -> Integers:
        return np.column_stack(self.ends).ravel()

    @cached_property
    def group_start(self) -> Integers:
        return np.arange(len(self) + 1, dtype=np.int64)

    @property
    def is_pairwise(self) -> bool:
        return True

    @property
    def n_parameters(self) -> int:
        return len(self)

    def group(self, interaction: int) -> slice:
        return slice(interaction, interaction + 1)

    @cached_property
    def ends(self) -> tuple[Integers, Integers]:
        first, second = np.triu_indices(self.n_nodes, 1)
        return first.astype(np.int64, copy=False), second.astype(np.int64, copy=False)

    @cached_property
    def _row_start(self) -> Integers:
        """Number of the first pair of each node with a later one."""
        i = np.arange(self.n_nodes, dtype=np.int64)
        return i * self.n_nodes - i * (i + 1) // 2

    def find(self, i: Any, j: Any) -> Any:
        low, high = np.minimum(i, j), np.maximum(i, j)
        if np.any((low < 0) | (high >= self.n_nodes) | (low == high)):
            raise ValueError(_no_pair(self.n_nodes))
        found = self._row_start[low] + high - low - 1
        return int(found) if np.ndim(found) == 0 else found

    def ends_of(self, which: ArrayLike) -> tuple[Integers, Integers]:
        pairs = np.asarray(which, np.int64)
        # the last node starts where the pairs end, and owns none
        first = np.searchsorted(self._row_start[:-1], pairs, side="right") - 1
        return first, pairs - self._row_start[first] + first + 1

    def cliques(self, which: ArrayLike | None = None) -> Iterator[tuple[int, ...]]:
        first, second = self.ends if which is None else self.ends_of(which)
        return zip(first.tolist(), second.tolist(), strict=True)

    def _rows(self) -> Iterator[tuple[int, slice]]:
        """Each node, and the numbers of its pairs with later nodes."""
        rows = enumerate(pairwise(self._row_start.tolist()))
        return ((i, slice(start, stop)) for i, (start, stop) in rows)

    # Row by row: the ends of all pairs would take more memory than the matrix.

    def _write(self, values: NDArray[Any], matrix: NDArray[Any]) -> None:
        for i, pairs in self._rows():
            matrix[..., i, i + 1 :] = matrix[..., i + 1 :, i] = values[..., pairs]

    def of_matrix(self, matrix: ArrayLike) -> NDArray[Any]:
        matrix = np.asarray(matrix)
        values = np.empty((*matrix.shape[:-2], len(self)), matrix.dtype)
        for i, pairs in self._rows():
            values[..., pairs] = matrix[..., i, i + 1 :]
        return values


@dataclass(frozen=True)
class _AllGroups(_AllPairs):
    """All pairs, each with as many parameters as the product of the sizes of its nodes."""

    sizes: tuple[int, ...]

    @cached_property
    def group_start(self) -> Integers:
        first, second = self.ends
        sizes = np.array(self.sizes, dtype=np.int64)
        return np.concatenate([[0], np.cumsum(sizes[first] * sizes[second])])

    @property
    def n_parameters(self) -> int:
        return int(self.group_start[-1])

    def group(self, interaction: int) -> slice:
        return slice(int(self.group_start[interaction]), int(self.group_start[interaction + 1]))


@dataclass(frozen=True)
class _Cliques(Interactions):
    """Interactions given one by one."""

    members: tuple[tuple[int, ...], ...]
    group_sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.members) != len(self.group_sizes):
            raise ValueError(
                "Every interaction needs a group size; found "
                f"{len(self.members)} interactions and {len(self.group_sizes)} sizes. Pass as many."
            )
        for clique in self.members:
            distinct = set(clique)
            if len(distinct) != len(clique) or not distinct <= set(range(self.n_nodes)):
                raise ValueError(
                    f"An interaction must join distinct nodes from 0 to {self.n_nodes - 1}; found "
                    f"{clique}. Name each node once."
                )

    def __len__(self) -> int:
        return len(self.members)

    @cached_property
    def node_start(self) -> Integers:
        return _starts([len(clique) for clique in self.members])

    @cached_property
    def nodes(self) -> Integers:
        return np.array([i for clique in self.members for i in clique], dtype=np.int64)

    @cached_property
    def group_start(self) -> Integers:
        return _starts(self.group_sizes)

    @cached_property
    def is_pairwise(self) -> bool:
        return all(len(clique) == 2 for clique in self.members)

    @cached_property
    def ends(self) -> tuple[Integers, Integers]:
        if not self.is_pairwise:
            largest = max(self.members, key=len)
            raise ValueError(
                f"Only interactions of two nodes have two ends; found {largest}. Use cliques()."
            )
        return self.nodes[0::2].copy(), self.nodes[1::2].copy()

    @cached_property
    def _index(self) -> Integers:
        """Index of the interaction of every two nodes, -1 where there is none."""
        index = np.full((self.n_nodes, self.n_nodes), -1, dtype=np.int64)
        first, second = self.ends
        index[first, second] = index[second, first] = np.arange(len(self))
        return index

    def find(self, i: Any, j: Any) -> Any:
        if np.any(np.minimum(i, j) < 0) or np.any(np.maximum(i, j) >= self.n_nodes):
            raise ValueError(_no_pair(self.n_nodes))
        found = self._index[i, j]
        if np.any(found < 0):
            raise ValueError(_no_pair(self.n_nodes))
        return int(found) if np.ndim(found) == 0 else found

    def _write(self, values: NDArray[Any], matrix: NDArray[Any]) -> None:
        first, second = self.ends
        matrix[..., first, second] = matrix[..., second, first] = values

    def of_matrix(self, matrix: ArrayLike) -> NDArray[Any]:
        first, second = self.ends
        return np.asarray(matrix)[..., first, second]


def _starts(sizes: Sequence[int]) -> Integers:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _no_pair(n_nodes: int) -> str:
    return (
        f"Two of the {n_nodes} nodes must have an interaction to find its index; found nodes "
        "without one. Pass two different nodes that have one."
    )
