"""What a user knows of single edges before the data: forbidden, required, more or less likely."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from slabfield.checks.errors import InputError, listed, shown_value
from slabfield.checks.parameters import check_number
from slabfield.checks.priors import DEFAULT_SHAPE, InclusionPrior, check_inclusion_prior

Array = NDArray[np.float64]


def check_edge_prior(
    inclusion_prior: object,
    names: Sequence[str],
    *,
    forbid: object = None,
    require: object = None,
    groups: object = None,
    within: object = None,
    between: object = None,
) -> InclusionPrior:
    """Put together all that a user says about which edges to expect.

    What is said of one edge comes before what is said of many: ``forbid`` and ``require`` first,
    then the edge's own probability in ``inclusion_prior``, then that of its kind (``within`` a
    group or ``between`` groups), then what holds for all edges.

    Parameters
    ----------
    inclusion_prior : pair, number, array of shape (D, D), or mapping from pairs to numbers
        As `check_inclusion_prior` takes it; a mapping from pairs of nodes to probabilities leaves
        other edges to p0 ~ Beta(5, 5).
    names : sequence of str
        Names of the nodes. A node is named by a string, or counted from 0 by a whole number.
    forbid, require : iterable of pairs of nodes, optional
        Edges that are never, or always, there.
    groups : sequence of D labels, or mapping from every node to its label, optional
        Which group each node is in.
    within, between : number, optional
        Prior probability of edges between nodes of the same group, and of different groups.

    Returns
    -------
    InclusionPrior
        The Beta parameters, and the fixed probability of every edge.

    Examples
    --------
    >>> from slabfield.checks import check_edge_prior
    >>> names = ["sleep", "work", "mood"]
    >>> check_edge_prior((5, 5), names, forbid=[("sleep", "mood")], require=[(1, 2)]).fixed
    array([nan,  0.,  1.])
    >>> check_edge_prior((5, 5), names, groups=["a", "a", "b"], between=0.1).fixed
    array([nan, 0.1, 0.1])
    """
    base, own = _base_and_own(inclusion_prior, names)
    fixed = base.fixed.copy()
    kinds = _of_kinds(groups, within, between, names)
    fixed = np.where(np.isnan(kinds), fixed, kinds)
    fixed = np.where(np.isnan(own), fixed, own)
    never, always = (
        _edges_of(name, value, names) for name, value in (("forbid", forbid), ("require", require))
    )
    both = sorted(never & always)
    if both:
        raise InputError(
            "forbid and require must not name the same edge; found "
            f"{_pair_of(both[0], names)} in both. Take it out of one."
        )
    for name, edges, value, opposite in (
        ("forbid", never, 0.0, 1.0),
        ("require", always, 1.0, 0.0),
    ):
        clash = [edge for edge in sorted(edges) if own[edge] == opposite]
        if clash:
            raise InputError(
                f"{name} must agree with inclusion_prior; for the pair "
                f"{_pair_of(clash[0], names)} that says {opposite:g}. Take one of them out."
            )
        fixed[list(edges)] = value
    return InclusionPrior(base.a, base.b, fixed)


def find_node(what: str, node: object, names: Sequence[str]) -> int:
    """Return the place of a node given by its name or its place.

    Parameters
    ----------
    what : str
        What names the node, for the message.
    node : str or int
        A name, or a place counted from 0.
    names : sequence of str
        Names of all nodes.

    Returns
    -------
    int
        The place.

    Examples
    --------
    >>> from slabfield.checks import find_node
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


def _base_and_own(value: object, names: Sequence[str]) -> tuple[InclusionPrior, Array]:
    """Return what holds for all edges, and what single edges have instead (NaN: nothing)."""
    n_nodes = len(names)
    n_edges = n_nodes * (n_nodes - 1) // 2
    nothing = np.full(n_edges, np.nan)
    learnt = InclusionPrior(DEFAULT_SHAPE, DEFAULT_SHAPE, nothing)
    if isinstance(value, Mapping):
        own = nothing.copy()
        for pair, probability in value.items():
            (edge,) = _edges_of("inclusion_prior", [pair], names)
            own[edge] = check_number("inclusion_prior", probability, 0.0, 1.0)
        return learnt, own
    base = check_inclusion_prior(value, n_nodes, names)
    if np.ndim(value) == 2:  # type: ignore[arg-type]
        return learnt, base.fixed
    return base, nothing


def _edges_of(what: str, pairs: object, names: Sequence[str]) -> set[int]:
    """Return the numbers of the edges that pairs of nodes stand for."""
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
        i, j = sorted(find_node(what, end, names) for end in ends)
        if i == j:
            raise InputError(
                f"{what} must hold pairs of different nodes; got {shown_value(names[i])} with "
                "itself. Name two."
            )
        edges.add(i * (2 * len(names) - i - 1) // 2 + j - i - 1)
    return edges


def _of_kinds(
    groups: object, within: object, between: object, names: Sequence[str]
) -> NDArray[np.float64]:
    """Probability of every edge by whether its ends are in one group; NaN where nothing is said."""
    n_nodes = len(names)
    first, second = np.triu_indices(n_nodes, 1)
    if groups is None:
        for name, value in (("within", within), ("between", between)):
            if value is not None:
                raise InputError(
                    f"{name} is the probability of edges within or between groups, and needs them; "
                    f"got {name}={shown_value(value)} without groups. Pass groups, a label for "
                    "each node."
                )
        return np.full(first.size, np.nan)
    if within is None and between is None:
        raise InputError(
            "groups need a probability of edges within them or between them; got neither. Pass "
            "for example within=0.5, between=0.1."
        )
    labels = _labels(groups, names)
    same = np.array([labels[i] == labels[j] for i, j in zip(first, second, strict=True)])
    inside, across = (
        np.nan if value is None else check_number(name, value, 0.0, 1.0)
        for name, value in (("within", within), ("between", between))
    )
    return np.where(same, inside, across)


def _labels(groups: object, names: Sequence[str]) -> list[object]:
    """Return the label of every node."""
    if isinstance(groups, Mapping):
        places = {find_node("groups", node, names): label for node, label in groups.items()}
        without = [repr(name) for k, name in enumerate(names) if k not in places]
        if without:
            raise InputError(
                f"groups must have a label for each node; {listed(without)} "
                f"{'has' if len(without) == 1 else 'have'} none. Add "
                f"{'it' if len(without) == 1 else 'them'}."
            )
        return [places[k] for k in range(len(names))]
    labels = (
        [] if isinstance(groups, (str, bytes)) or not isinstance(groups, Iterable) else [*groups]
    )
    if len(labels) != len(names):
        raise InputError(
            f"groups must have a label for each of the {len(names)} nodes; got "
            f"{shown_value(groups)}. Pass a list of {len(names)} labels, or a dict from names to "
            "labels."
        )
    return labels


def _pair_of(edge: int, names: Sequence[str]) -> str:
    first, second = np.triu_indices(len(names), 1)
    return f"({names[int(first[edge])]!r}, {names[int(second[edge])]!r})"
