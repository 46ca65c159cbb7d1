"""The representation of a fitted estimator, as one line of text and as HTML."""

from __future__ import annotations

from html import escape
from typing import Any

CELL = "text-align: left; padding: 0.15em 1em 0.15em 0"


def is_fitted(model: Any) -> bool:
    """Whether an estimator has been fitted.

    Examples
    --------
    >>> from slabfield.baselines import ChowLiuTree
    >>> from slabfield.estimators.representation import is_fitted
    >>> is_fitted(ChowLiuTree())
    False
    """
    return "variables_" in vars(model) and "bias_" in vars(model)


def summary_items(model: Any) -> list[tuple[str, str]]:
    """Return the names and values in the summary of a fitted estimator.

    Examples
    --------
    >>> from slabfield.baselines import ChowLiuTree
    >>> from slabfield.estimators.representation import summary_items
    >>> summary_items(ChowLiuTree().fit([[0, 1], [1, 0], [1, 1], [0, 0]]))
    [('nodes', '2'), ('rows', '4'), ('edges', '0 of 1')]
    """
    size = [("nodes", f"{model.n_features_in_}"), ("rows", f"{model.n_rows_}")]
    return [*size, *model._summary_items()]


def as_text(model: Any) -> str:
    """Return the summary of a fitted estimator as one line.

    Examples
    --------
    >>> from slabfield.baselines import ChowLiuTree
    >>> ChowLiuTree().fit([[0, 1], [1, 0], [1, 1], [0, 0]])
    <ChowLiuTree, fitted: nodes 2, rows 4, edges 0 of 1>
    """
    items = ", ".join(f"{name} {value}" for name, value in summary_items(model))
    return f"<{type(model).__name__}, fitted: {items}>"


def as_html(model: Any, parameters: str) -> str:
    """Return the summary of a fitted estimator as a table, with its parameters folded below.

    Parameters
    ----------
    model : FieldModel
        A fitted estimator.
    parameters : str
        HTML of its parameters, from scikit-learn.

    Returns
    -------
    str
        HTML; names and messages are escaped.

    Examples
    --------
    >>> from slabfield.baselines import ChowLiuTree
    >>> from slabfield.estimators.representation import as_html
    >>> tree = ChowLiuTree().fit([[0, 1], [1, 0], [1, 1], [0, 0]])
    >>> "<td" in as_html(tree, "")
    True
    """
    rows = "".join(
        f'<tr><th scope="row" style="{CELL}">{escape(name)}</th>'
        f'<td style="{CELL}">{escape(value)}</td></tr>'
        for name, value in summary_items(model)
    )
    notes = "".join(f"<li>{escape(text)}</li>" for text in model._notes())
    return (
        f"<div><strong>{escape(type(model).__name__)}</strong>, fitted"
        f"<table>{rows}</table>"
        f"{f'<ul>{notes}</ul>' if notes else ''}"
        f"<details><summary>Parameters</summary>{parameters}</details></div>"
    )
