"""Prior knowledge about edges: forbidden, required, or with a given prior probability."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from slabfield.validation.errors import (
    InputError,
    Parameter,
    closest_name,
    listed,
    shown_value,
)
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
        set() if value is None else set(find_edges(name, value, names, interactions))
        for name, value in (("forbid", forbid), ("require", require))
    )
    both = sorted(forbidden & required)
    if both:
        raise InputError(
            "edge-forbidden-and-required",
            "{forbid} and {require} must not name the same edge; found {pair} in both. Remove it "
            "from one of them.",
            forbid=Parameter("forbid"),
            require=Parameter("require"),
            pair=_pair_of(both[0], names, interactions),
        )
    for name, edges, value, opposite in (
        ("forbid", forbidden, 0.0, 1.0),
        ("require", required, 1.0, 0.0),
    ):
        conflicts = [edge for edge in sorted(edges) if specific[edge] == opposite]
        if conflicts:
            raise InputError(
                "edge-priors-disagree",
                "{parameter} must agree with {inclusion_prior}; for the pair {pair} that says "
                "{probability:g}. Remove one of them.",
                parameter=Parameter(name),
                inclusion_prior=Parameter("inclusion_prior"),
                pair=_pair_of(conflicts[0], names, interactions),
                probability=opposite,
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
    closest = closest_name(node, names) if isinstance(node, str) else None
    if closest is not None:
        raise InputError(
            "misspelled-node",
            "{parameter} must name nodes of the table; no node {node}; did you mean {closest!r}?",
            parameter=Parameter(what),
            node=shown_value(node),
            closest=closest,
        )
    raise InputError(
        "unknown-node",
        "{parameter} must name nodes of the table; got {node}. The nodes are {names}: pass one of "
        "these, or a number from 0 to {last}.",
        parameter=Parameter(what),
        node=shown_value(node),
        names=listed([repr(name) for name in names]),
        last=len(names) - 1,
    )


def find_edges(
    what: str, pairs: object, names: Sequence[str], interactions: PairIndex
) -> list[int]:
    """Return the indices of the edges between pairs of nodes.

    Parameters
    ----------
    what : str
        Name of the parameter, for messages.
    pairs : iterable of pairs
        Each two nodes, by name or by index.
    names : sequence of str
        Names of the nodes.
    interactions : Interactions
        All pairs of the nodes.

    Examples
    --------
    >>> from slabfield.models.interactions import Interactions
    >>> from slabfield.validation import find_edges
    >>> find_edges("edges", [("joy", "work")], ["sleep", "work", "joy"], Interactions.pairs(3))
    [2]
    """
    example = Parameter(what, [(names[0], names[1])])
    if isinstance(pairs, (str, bytes, Mapping)) or not isinstance(pairs, Iterable):
        raise InputError(
            "not-a-list-of-pairs",
            "{parameter} must be a list of pairs of nodes; got {value}. Pass for example "
            "{example}.",
            parameter=Parameter(what),
            value=shown_value(pairs),
            example=example,
        )
    return [_find_edge(pair, names, interactions, example) for pair in pairs]


def _base_and_specific(
    value: object, names: Sequence[str], interactions: PairIndex
) -> tuple[InclusionPrior, Array]:
    """Return the prior of all edges, and the probabilities of single edges (NaN: not given)."""
    unspecified = np.full(len(interactions), np.nan)
    default = InclusionPrior(DEFAULT_SHAPE, DEFAULT_SHAPE, unspecified)
    if isinstance(value, Mapping):
        specific = unspecified.copy()
        example = Parameter("inclusion_prior", {(names[0], names[1]): 0.1})
        for pair, probability in value.items():
            specific[_find_edge(pair, names, interactions, example)] = check_number(
                "inclusion_prior", probability, 0.0, 1.0
            )
        return default, specific
    base = check_inclusion_prior(value, interactions, names)
    if np.ndim(value) == 2:  # type: ignore[arg-type]
        return default, base.fixed
    return base, unspecified


def _find_edge(
    pair: object, names: Sequence[str], interactions: PairIndex, example: Parameter
) -> int:
    """Return the index of the edge between two nodes; `example` is what the user should pass."""
    if isinstance(pair, (str, bytes)) or not isinstance(pair, Iterable):
        ends: list[object] = []
    else:
        ends = list(pair)
    if len(ends) != 2:
        raise InputError(
            "not-a-pair",
            "{parameter} must hold pairs of nodes; got {value} among them. Pass for example "
            "{example}.",
            parameter=Parameter(example.name),
            value=shown_value(pair),
            example=example,
        )
    i, j = (find_node(example.name, end, names) for end in ends)
    if i == j:
        raise InputError(
            "edge-to-itself",
            "{parameter} must hold pairs of different nodes; got {node} with itself. Name two.",
            parameter=Parameter(example.name),
            node=shown_value(names[i]),
        )
    return interactions.find(i, j)


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
                    "probability-without-communities",
                    "{parameter} is the probability of edges within or between communities, and "
                    "needs them; got {given} without {communities}. Pass {communities}, a label "
                    "for each node.",
                    parameter=Parameter(name),
                    given=Parameter(name, value),
                    communities=Parameter("communities"),
                )
        return np.full(len(interactions), np.nan)
    if within is None and between is None:
        raise InputError(
            "communities-without-probability",
            "communities need a probability of edges within them or between them; got neither. "
            "Pass for example {within}, {between}.",
            within=Parameter("within", 0.5),
            between=Parameter("between", 0.1),
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
                "node-without-community",
                "{parameter} must have a label for each node; {nodes} {have} none. Add {them}.",
                parameter=Parameter("communities"),
                nodes=listed(unlabeled),
                have="has" if len(unlabeled) == 1 else "have",
                them="it" if len(unlabeled) == 1 else "them",
            )
        return [label_of[k] for k in range(len(names))]
    labels = (
        []
        if isinstance(communities, (str, bytes)) or not isinstance(communities, Iterable)
        else [*communities]
    )
    if len(labels) != len(names):
        raise InputError(
            "wrong-number-of-communities",
            "{parameter} must have a label for each of the {n_nodes} nodes; got {value}. Pass a "
            "list of {n_nodes} labels, or a dict from names to labels.",
            parameter=Parameter("communities"),
            n_nodes=len(names),
            value=shown_value(communities),
        )
    return labels


def _pair_of(edge: int, names: Sequence[str], interactions: PairIndex) -> str:
    return f"({interactions.labels([*map(repr, names)], [edge], separator=', ')[0]})"
