r"""The pairwise model of nodes with levels: binary, ordinal, Blume-Capel and nominal.

.. math:: \log P(x) = \sum_i G_i[x_i] \cdot \mu_i + \sum_{i<j} V_i[x_i]' B_{ij} V_j[x_j] - \log Z

Node i has :math:`K_i` levels, bias features :math:`G_i` and an embedding :math:`V_i` of its levels;
the pair (i, j) owns the entries of :math:`B_{ij}` (equation 34 of ``docs/maths.md``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from slabfield.models.interactions import Integers, Interactions
from slabfield.models.level_field import LevelField
from slabfield.models.loglinear import FeatureTable
from slabfield.models.protocol import Array, Model, Sums

# Newton steps to the biases of a node without couplings, and the largest change of a bias in one
NEWTON_STEPS, LARGEST_STEP = 40, 2.0


class NodeFeatures(NamedTuple):
    """Features of one node: one row for each of its levels.

    ``bias`` (K, r) and ``embedding`` (K, e) are G and V. ``bias_precision`` (r, r) is the prior
    precision of the biases in units of that of a binary node. Where ``free``, each level but the
    first has a bias of its own.
    """

    bias: Array
    embedding: Array
    bias_precision: Array
    free: bool

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.bias)


def free_biases(n_levels: int) -> tuple[Array, Array]:
    r"""Features and prior precision of a free bias for every level but the first.

    The biases are differences :math:`\eta_a - \eta_0` of independent normal variables of variance
    :math:`\sigma_b^2 / 2`, so that no level is special and two levels have the prior of a binary
    node: their covariance is :math:`\sigma_b^2 (I + J) / 2`.
    """
    r = n_levels - 1
    precision = 2.0 * (np.eye(r) - np.full((r, r), 1.0 / (r + 1)))
    return np.vstack([np.zeros((1, r)), np.eye(r)]), precision


def ordinal_features(scores: ArrayLike) -> NodeFeatures:
    """Features of an ordinal node: free biases, and one score per level.

    Examples
    --------
    >>> from slabfield.models.levels import ordinal_features
    >>> ordinal_features([0, 1]).embedding.ravel()
    array([0., 1.])
    """
    embedding = np.array(scores, dtype=np.float64)[:, None]
    bias, precision = free_biases(len(embedding))
    return NodeFeatures(bias, embedding, precision, True)


def blume_capel_features(scores: ArrayLike, positions: ArrayLike, reference: float) -> NodeFeatures:
    """Features of a Blume-Capel node: the distance from a reference level, and its square.

    Examples
    --------
    >>> from slabfield.models.levels import blume_capel_features
    >>> blume_capel_features([0, 1, 2], range(3), 1).bias
    array([[-1.,  1.],
           [ 0.,  0.],
           [ 1.,  1.]])
    """
    distance = np.asarray(positions, dtype=np.float64) - reference
    embedding = np.array(scores, dtype=np.float64)[:, None]
    return NodeFeatures(np.column_stack([distance, distance**2]), embedding, np.eye(2), False)


def nominal_features(n_levels: int) -> NodeFeatures:
    r"""Features of a nominal node: free biases, and an embedding in which all levels are alike.

    The rows of the embedding have mean zero and are equally far from each other (Helmert contrasts
    over :math:`\sqrt 2`), so that the log odds ratio of any two levels of one node and any two of
    another has the slab's variance, and the labels of the levels do not matter.

    Examples
    --------
    >>> from slabfield.models.levels import nominal_features
    >>> nominal_features(2).embedding.ravel()
    array([-0.5,  0.5])
    """
    embedding = np.zeros((n_levels, n_levels - 1))
    for k in range(1, n_levels):
        embedding[:k, k - 1] = -1.0 / np.sqrt(2.0 * k * (k + 1))
        embedding[k, k - 1] = k / np.sqrt(2.0 * k * (k + 1))
    bias, precision = free_biases(n_levels)
    return NodeFeatures(bias, embedding, precision, True)


class LevelFeatures(NamedTuple):
    r"""The features of all nodes as flat arrays, for compiled loops.

    The levels of node i are rows ``level_start[i]:level_start[i + 1]`` of ``embedding`` and of
    ``bias_feature``, which are padded with zeros; its biases are
    ``bias_start[i]:bias_start[i + 1]`` of all biases. ``centered`` is the embedding minus its mean
    in the data, ``center``. ``bias_of_embedding`` (D, R, E) turns a linear function of the
    embedding into biases: :math:`G_i W_i = V_i` up to a constant, ``offset``. With Q the prior
    precision of a node's biases, ``bias_precision``, ``projection`` is W' Q and
    ``embedding_precision`` W' Q W.
    """

    n_levels: Integers
    level_start: Integers
    embedding_size: Integers
    bias_start: Integers
    group_start: Integers
    free: Integers
    embedding: Array
    centered: Array
    center: Array
    bias_feature: Array
    bias_of_embedding: Array
    offset: Array
    bias_precision: Array
    projection: Array
    embedding_precision: Array


@dataclass(frozen=True, eq=False)
class PairwiseLevels(Model):
    """All pairs of nodes with levels as candidate edges.

    Examples
    --------
    >>> from slabfield.models.levels import PairwiseLevels, nominal_features, ordinal_features
    >>> model = PairwiseLevels([ordinal_features([0, 1, 2]), nominal_features(3)])
    >>> model.n_biases, model.interactions.n_parameters
    (4, 2)
    >>> model.sums([[0, 1], [2, 1]]).bias
    array([0., 1., 2., 0.])
    """

    nodes: Sequence[NodeFeatures]

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @cached_property
    def interactions(self) -> Interactions:
        """All pairs of nodes; one parameter for each product of two coordinates."""
        sizes = [node.embedding.shape[1] for node in self.nodes]
        return Interactions.pairs(self.n_nodes, sizes)

    @property
    def ends(self) -> tuple[Integers, Integers]:
        """First and second node of every edge."""
        return self.interactions.ends

    @property
    def n_states(self) -> Integers:
        """Number of levels of every node."""
        return np.array([node.n_levels for node in self.nodes], dtype=np.int64)

    @cached_property
    def bias_start(self) -> Integers:
        """Start of the biases of every node, and the end of the last."""
        sizes = [node.bias.shape[1] for node in self.nodes]
        return np.cumsum([0, *sizes]).astype(np.int64)

    @property
    def n_biases(self) -> int:
        """Number of biases of all nodes."""
        return int(self.bias_start[-1])

    @property
    def single_binary(self) -> bool:
        """Features are not all 0 or 1."""
        return False

    def statistics(self, rows: Any) -> tuple[Array, Array]:
        """Bias features of all nodes, and products of embeddings of all pairs, for each row."""
        x = np.asarray(rows, dtype=np.int64)
        biases = [node.bias[x[:, i]] for i, node in enumerate(self.nodes)]
        embedded = [node.embedding[x[:, i]] for i, node in enumerate(self.nodes)]
        products = [
            (embedded[i][:, :, None] * embedded[j][:, None, :]).reshape(len(x), -1)
            for i, j in self.interactions.cliques()
        ]
        return np.hstack(biases), np.hstack([*products, np.zeros((len(x), 0))])

    def sums(self, rows: Any) -> Sums:
        """Sums of the features over the rows."""
        return self.weighted_sums(rows, np.ones(len(np.asarray(rows))))

    def weighted_sums(self, rows: Any, weights: Array) -> Sums:
        """Weighted sums of the features over the rows, from the counts of pairs of levels."""
        from scipy.linalg import block_diag

        x, start = np.asarray(rows, dtype=np.int64), np.cumsum([0, *self.n_states])
        marks = np.zeros((len(x), int(start[-1])))
        marks[np.arange(len(x))[:, None], x + start[:-1]] = 1.0
        counts = (marks * weights[:, None]).T @ marks
        bias, embedding = (
            block_diag(*(getattr(node, name) for node in self.nodes))
            for name in ("bias", "embedding")
        )
        # sums in a fixed order, whatever the number of BLAS threads
        by_level = np.einsum("ab,ac->bc", embedding, counts)
        products = np.einsum("bc,cd->bd", by_level, embedding)
        first, second = self._coordinates
        return Sums(
            float(weights.sum()),
            np.einsum("ab,a->b", bias, np.diag(counts)),
            products[first, second],
        )

    @cached_property
    def _coordinates(self) -> tuple[Integers, Integers]:
        """The coordinates of the two embeddings whose product is the feature of each parameter."""
        sizes = np.array([node.embedding.shape[1] for node in self.nodes])
        start = np.cumsum([0, *sizes])
        pairs = [
            np.meshgrid(start[i] + np.arange(sizes[i]), start[j] + np.arange(sizes[j]),
                        indexing="ij")
            for i, j in self.interactions.cliques()
        ]  # fmt: skip
        first, second = ([side[k].ravel() for side in pairs] for k in range(2))
        none = np.zeros(0, np.int64)
        return np.concatenate([*first, none]), np.concatenate([*second, none])

    def feature_tables(self) -> list[FeatureTable]:
        """Features of all pairs as tables over their joint levels."""
        tables = []
        for i, j in self.interactions.cliques():
            first, second = self.nodes[i].embedding, self.nodes[j].embedding
            values = first[:, None, :, None] * second[None, :, None, :]
            tables.append(FeatureTable((i, j), values.reshape(len(first), len(second), -1)))
        return tables

    def independent_biases(self, sums: Sums) -> Array:
        """Biases of the field without couplings that fits the data, half a row added to each level.

        By Newton's method: of free biases it finds the log ratios of the frequencies.
        """
        found = np.zeros(self.n_biases)
        for node, begin, end in zip(
            self.nodes, self.bias_start[:-1], self.bias_start[1:], strict=True
        ):
            wanted = (sums.bias[begin:end] + 0.5 * node.bias.sum(axis=0)) / (
                sums.n_rows + 0.5 * node.n_levels
            )
            found[begin:end] = _fit_biases(node.bias, wanted)
        return found

    def field(self, bias: Array, coupling: Array) -> LevelField:
        """Field with these parameters."""
        return LevelField(self, bias, coupling)

    def log_potential(self, rows: Any, bias: Array, coupling: Array) -> Array:
        """Unnormalized log probability of each row."""
        return self.field(bias, coupling).log_potential(rows)

    def conditional(self, node: int, rows: Any, bias: Array, coupling: Array) -> Array:
        """Probability of each level of a node given the rest of each row."""
        return self.field(bias, coupling).conditional(node, rows)

    def features(self, rows: Any, weights: Array | None = None) -> LevelFeatures:
        """Return flat arrays for compiled loops, with embeddings centered at the rows' means."""
        x = np.asarray(rows, dtype=np.int64)
        n_levels = self.n_states
        start = np.cumsum([0, *n_levels]).astype(np.int64)
        most = max(node.embedding.shape[1] for node in self.nodes)
        most_biases = max(node.bias.shape[1] for node in self.nodes)
        d, n_rows = self.n_nodes, int(start[-1])
        embedding, centered = np.zeros((n_rows, most)), np.zeros((n_rows, most))
        center, offset = np.zeros((d, most)), np.zeros((d, most))
        bias, of_embedding = np.zeros((n_rows, most_biases)), np.zeros((d, most_biases, most))
        precision = np.zeros((d, most_biases, most_biases))
        for i, node in enumerate(self.nodes):
            (_, e), r = node.embedding.shape, node.bias.shape[1]
            levels = slice(start[i], start[i + 1])
            embedding[levels, :e], bias[levels, :r] = node.embedding, node.bias
            center[i, :e] = np.average(node.embedding[x[:, i]], axis=0, weights=weights)
            centered[levels, :e] = node.embedding - center[i, :e]
            offset[i, :e], of_embedding[i, :r, :e] = in_biases(node)
            precision[i, :r, :r] = node.bias_precision
        projection = of_embedding.transpose(0, 2, 1) @ precision
        return LevelFeatures(
            n_levels, start, np.array([node.embedding.shape[1] for node in self.nodes]),
            self.bias_start, self.interactions.group_start,
            np.array([node.free for node in self.nodes], dtype=np.int64), embedding, centered,
            center, bias, of_embedding, offset, precision, projection, projection @ of_embedding,
        )  # fmt: skip


def _fit_biases(features: Array, wanted: Array) -> Array:
    """Return the biases of one node under which its features have the wanted means."""
    bias = np.zeros(features.shape[1])
    for _ in range(NEWTON_STEPS):
        energy = features @ bias
        weights = np.exp(energy - energy.max())
        weights /= weights.sum()
        mean = weights @ features
        covariance = (features * weights[:, None]).T @ features - np.outer(mean, mean)
        step = np.linalg.solve(covariance + 1e-9 * np.eye(bias.size), wanted - mean)
        bias += np.clip(step, -LARGEST_STEP, LARGEST_STEP)
    return bias


def in_biases(node: NodeFeatures) -> tuple[Array, Array]:
    """Return the constant and the biases that make up a node's embedding."""
    columns = np.column_stack([np.ones(node.n_levels), node.bias])
    solution, *_ = np.linalg.lstsq(columns, node.embedding)
    if not np.allclose(columns @ solution, node.embedding):
        raise ValueError(
            "The scores of a Blume-Capel node must be a quadratic function of its levels; found "
            "others. Use equally spaced scores, or an ordinal node."
        )
    # clean zeros and ones, which least squares gives up to rounding
    exact = np.where(np.abs(solution - solution.round(12)) < 1e-12, solution.round(12), solution)
    return exact[0], exact[1:]
