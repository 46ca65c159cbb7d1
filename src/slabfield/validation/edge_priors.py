"""Prior knowledge about edges: forbidden, required, or with a given prior probability."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from slabfield.validation.errors import InputError, listed, shown_value
from slabfield.validation.parameters import check_number
from slabfield.validation.prior_parameters import (
    DEFAULT_SHAPE,
    InclusionPrior,
    PairIndex,
    check_inclusion_prior,
)

Array = NDArray[np.float64]


def check_edge_prior(
    inclusion_prior: object,
    names: Sequence[str],
    interactions: PairIndex,
    *,
    forbid: object = None,
    require: object = None,
    communities: object = None,
    within: object = None,
    between: object = None,
) -> InclusionPrior:
    """Combine everything a user says about edges into one inclusion prior.

    Specific information takes precedence over general: first ``forbid`` and ``require``, then the
    probability of the edge in ``inclusion_prior``, then that of its kind (``within`` a community or
    ``between`` communities), then the prior of all edges.

    Parameters
    ----------
    inclusion_prior : pair, number, array of shape (D, D), or mapping from pairs to numbers
        As for `check_inclusion_prior`; a mapping from pairs of nodes to probabilities leaves other
        edges to p0 ~ Beta(5, 5).
    names : sequence of str
        Names of the nodes. A node is given by its name, or by its index, from 0.
    interactions : Interactions
        All pairs of the nodes.
    forbid, require : iterable of pairs of nodes, optional
        Edges that are always absent, or always present.
    communities : sequence of D labels, or mapping from every node to its label, optional
        The community of each node.
    within, between : number, optional
        Prior probability of edges between nodes of the same community, and of different
        communities.

    Returns
    -------
    InclusionPrior
        The Beta parameters, and the fixed probability of every edge.
    """
    base, specific = _base_and_specific(inclusion_prior, names, interactions)
    fixed = base.fixed.copy()
    by_community = _community_probabilities(communities, within, between, names, interactions)
    fixed = np.where(np.isnan(by_community), fixed, by_community)
    fixed = np.where(np.isnan(specific), fixed, specific)
    forbidden, required = (
        _edges_of(name, value, names, interactions)
        for name, value in (("forbid", forbid), ("require", require))
    )
    both = sorted(forbidden & required)
    if both:
        raise InputError(
            "forbid and require must not name the same edge; found "
            f"{_pair_of(both[0], names, interactions)} in both. Remove it from one of them."
        )
    for name, edges, value, opposite in (
        ("forbid", forbidden, 0.0, 1.0),
        ("require", required, 1.0, 0.0),
    ):
        conflicts = [edge for edge in sorted(edges) if specific[edge] == opposite]
        if conflicts:
            raise InputError(
                f"{name} must agree with inclusion_prior; for the pair "
                f"{_pair_of(conflicts[0], names, interactions)} that says {opposite:g}. Remove one "
                "of them."
            )
        fixed[list(edges)] = value
    return InclusionPrior(base.a, base.b, fixed)


def find_node(what: str, node: object, names: Sequence[str]) -> int:
    """Return the index of a node that is given by its name or its index.

    Parameters
    ----------
    node : str or int
        A name, or an index from 0.

    Examples
    --------
    >>> from slabfield.validation import find_node
    >>> find_node("forbid", "work", ["sleep", "work"]), find_node("forbid", 0, ["sleep", "work"])
    (1, 0)
    """
    if isinstance(node, str) and node in names:
        return list(names).index(node)
    if isinstance(node, Integral) and not isinstance(node, bool) and 0 <= int(node) < len(names):
        return int(node)
    shown = listed([repr(name) for name in names])
    raise InputError(
        f"{what} must name nodes of the table; got {shown_value(node)}. The nodes are {shown}: "
        f"pass one of these, or a number from 0 to {len(names) - 1}."
    )


def _base_and_specific(
    value: object, names: Sequence[str], interactions: PairIndex
) -> tuple[InclusionPrior, Array]:
    """Return the prior of all edges, and the probabilities of single edges (NaN: not given)."""
    unspecified = np.full(len(interactions), np.nan)
    default = InclusionPrior(DEFAULT_SHAPE, DEFAULT_SHAPE, unspecified)
    if isinstance(value, Mapping):
        specific = unspecified.copy()
        for pair, probability in value.items():
            (edge,) = _edges_of("inclusion_prior", [pair], names, interactions)
            specific[edge] = check_number("inclusion_prior", probability, 0.0, 1.0)
        return default, specific
    base = check_inclusion_prior(value, interactions, names)
    if np.ndim(value) == 2:  # type: ignore[arg-type]
        return default, base.fixed
    return base, unspecified


def _edges_of(what: str, pairs: object, names: Sequence[str], interactions: PairIndex) -> set[int]:
    """Return the indices of the edges between pairs of nodes."""
    if pairs is None:
        return set()
    if isinstance(pairs, (str, bytes, Mapping)) or not isinstance(pairs, Iterable):
        raise InputError(
            f"{what} must be a list of pairs of nodes; got {shown_value(pairs)}. Pass for example "
            f"{what}=[({names[0]!r}, {names[1]!r})]."
        )
    edges = set()
    for pair in pairs:
        if isinstance(pair, (str, bytes)) or not isinstance(pair, Iterable):
            ends: list[object] = []
        else:
            ends = list(pair)
        if len(ends) != 2:
            raise InputError(
                f"{what} must hold pairs of nodes; got {shown_value(pair)} among them. Pass for "
                f"example {what}=[({names[0]!r}, {names[1]!r})]."
            )
        i, j = (find_node(what, end, names) for end in ends)
        if i == j:
            raise InputError(
                f"{what} must hold pairs of different nodes; got {shown_value(names[i])} with "
                "itself. Name two."
            )
        edges.add(interactions.find(i, j))
    return edges


def _community_probabilities(
    communities: object,
    within: object,
    between: object,
    names: Sequence[str],
    interactions: PairIndex,
) -> Array:
    """Prior probability of every edge within or between communities; NaN where it is not given."""
    if communities is None:
        for name, value in (("within", within), ("between", between)):
            if value is not None:
                raise InputError(
                    f"{name} is the probability of edges within or between communities, and needs "
                    f"them; got {name}={shown_value(value)} without communities. Pass communities, "
                    "a label for each node."
                )
        return np.full(len(interactions), np.nan)
    if within is None and between is None:
        raise InputError(
            "communities need a probability of edges within them or between them; got neither. "
            "Pass for example within=0.5, between=0.1."
        )
    labels = _labels(communities, names)
    same = interactions.of_matrix(np.array([[a == b for b in labels] for a in labels]))
    inside, across = (
        np.nan if value is None else check_number(name, value, 0.0, 1.0)
        for name, value in (("within", within), ("between", between))
    )
    return np.where(same, inside, across)


def _labels(communities: object, names: Sequence[str]) -> list[object]:
    """Return the label of every node."""
    if isinstance(communities, Mapping):
        label_of = {
            find_node("communities", node, names): label for node, label in communities.items()
        }
        unlabeled = [repr(name) for k, name in enumerate(names) if k not in label_of]
        if unlabeled:
            raise InputError(
                f"communities must have a label for each node; {listed(unlabeled)} "
                f"{'has' if len(unlabeled) == 1 else 'have'} none. Add "
                f"{'it' if len(unlabeled) == 1 else 'them'}."
            )
        return [label_of[k] for k in range(len(names))]
    labels = (
        []
        if isinstance(communities, (str, bytes)) or not isinstance(communities, Iterable)
        else [*communities]
    )
    if len(labels) != len(names):
        raise InputError(
            f"communities must have a label for each of the {len(names)} nodes; got "
            f"{shown_value(communities)}. Pass a list of {len(names)} labels, or a dict from names "
            "to labels."
        )
    return labels


def _pair_of(edge: int, names: Sequence[str], interactions: PairIndex) -> str:
    return f"({interactions.labels([*map(repr, names)], [edge], separator=', ')[0]})"
