"""A fitted model in a few lines, as text and as HTML."""

from __future__ import annotations

from html import escape
from typing import Any

CELL = "text-align: left; padding: 0.15em 1em 0.15em 0"


def is_fitted(model: Any) -> bool:
    """Whether a model has been fitted.

    Examples
    --------
    >>> from slabfield.baselines import ChowLiuTree
    >>> from slabfield.face.summary import is_fitted
    >>> is_fitted(ChowLiuTree())
    False
    """
    return "coding_" in vars(model) and "bias_" in vars(model)


def facts_of(model: Any) -> list[tuple[str, str]]:
    """Return names and values of what a fitted model shows of itself.

    Examples
    --------
    >>> from slabfield.baselines import ChowLiuTree
    >>> from slabfield.face.summary import facts_of
    >>> facts_of(ChowLiuTree().fit([[0, 1], [1, 0], [1, 1], [0, 0]]))
    [('nodes', '2'), ('rows', '4'), ('edges', '0 of 1')]
    """
    size = [("nodes", f"{model.n_features_in_}"), ("rows", f"{model.n_rows_}")]
    return [*size, *model._facts()]


def as_text(model: Any) -> str:
    """Write a fitted model in one line.

    Examples
    --------
    >>> from slabfield.baselines import ChowLiuTree
    >>> ChowLiuTree().fit([[0, 1], [1, 0], [1, 1], [0, 0]])
    <ChowLiuTree, fitted: nodes 2, rows 4, edges 0 of 1>
    """
    facts = ", ".join(f"{name} {value}" for name, value in facts_of(model))
    return f"<{type(model).__name__}, fitted: {facts}>"


def as_html(model: Any, parameters: str) -> str:
    """Write a fitted model as a small table, with what scikit-learn shows of it folded below.

    Parameters
    ----------
    model : FieldModel
        A fitted model.
    parameters : str
        HTML of its parameters.

    Returns
    -------
    str
        HTML; names and messages are escaped.

    Examples
    --------
    >>> from slabfield.baselines import ChowLiuTree
    >>> from slabfield.face.summary import as_html
    >>> tree = ChowLiuTree().fit([[0, 1], [1, 0], [1, 1], [0, 0]])
    >>> "<td" in as_html(tree, "")
    True
    """
    rows = "".join(
        f'<tr><th scope="row" style="{CELL}">{escape(name)}</th>'
        f'<td style="{CELL}">{escape(value)}</td></tr>'
        for name, value in facts_of(model)
    )
    notes = "".join(f"<li>{escape(text)}</li>" for text in model._told())
    return (
        f"<div><strong>{escape(type(model).__name__)}</strong>, fitted"
        f"<table>{rows}</table>"
        f"{f'<ul>{notes}</ul>' if notes else ''}"
        f"<details><summary>Parameters</summary>{parameters}</details></div>"
    )
