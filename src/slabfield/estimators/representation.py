"""The representation of a fitted estimator, as one line of text and as HTML."""

from __future__ import annotations

from html import escape
from typing import Any

RESULTS = {"coupling_", "posterior_"}
"""What estimators set at the end of a fit: one of these."""

CELL = "text-align: left; padding: 0.15em 1em 0.15em 0"


def is_fitted(model: Any) -> bool:
    """Whether an estimator has been fitted."""
    return "variables_" in vars(model) and not vars(model).keys().isdisjoint(RESULTS)


def summary_items(model: Any) -> list[tuple[str, str]]:
    """Return the names and values in the summary of a fitted estimator."""
    size = [("nodes", f"{model.n_features_in_}"), ("rows", f"{model.n_rows_}")]
    return [*size, *model._summary_items()]


def as_text(model: Any) -> str:
    """Return the summary of a fitted estimator as one line."""
    items = ", ".join(f"{name} {value}" for name, value in summary_items(model))
    return f"<{type(model).__name__}, fitted: {items}>"


def as_html(model: Any, parameters: str) -> str:
    """Return the summary of a fitted estimator as a table, with its parameters folded below.

    Parameters
    ----------
    parameters : str
        HTML of its parameters, from scikit-learn.

    Returns
    -------
    str
        HTML; names and messages are escaped.
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
