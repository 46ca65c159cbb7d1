"""Assembly of the report from template, data and text, and its atomic write."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import slabfield
from slabfield.io.atomic import check_target, write_atomically
from slabfield.posterior.evidence_classes import CLASSES, NOT_ASSESSED, RANGES, count_classes
from slabfield.posterior.wording import counted
from slabfield.report.payload import report_payload
from slabfield.report.text import (
    all_settings,
    coupling_help,
    main_settings,
    sentences,
    verdict,
    warnings_in_words,
)
from slabfield.validation import check_number

if TYPE_CHECKING:
    from slabfield.posterior import Posterior

SCRIPTS = ("common", "levels", "network", "network_view", "edges", "matrix", "convergence", "start")


def write_report(
    posterior: Posterior,
    path: str | os.PathLike[str],
    threshold: float | None = None,
    source: str = "",
) -> None:
    """Write a report of a posterior as one self-contained HTML file, atomically.

    Parameters
    ----------
    posterior : Posterior
        Result of a run.
    path : str or path
        The file, in an existing folder; by convention its name ends in ``.html``.
    threshold : float, optional
        Smallest inclusion probability of an edge in the network when the report opens; by default
        as in :func:`slabfield.plots.network`.
    source : str
        Where the data come from and when they were fitted, for the head of the report.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from slabfield import Posterior
    >>> from slabfield.draws import Draws
    >>> from slabfield.report import write_report
    >>> one = np.ones((2, 4))
    >>> draws = Draws.from_dense(
    ...     one[..., None], one[..., None] == 1, np.zeros((2, 4, 2)), one / 2, one, one
    ... )
    >>> with TemporaryDirectory() as folder:
    ...     write_report(Posterior(draws, ["sleep", "work"], {}), Path(folder) / "report.html")
    ...     (Path(folder) / "report.html").read_text("utf-8").splitlines()[0]
    '<!doctype html>'
    """
    target = check_target(path)
    if threshold is not None:
        threshold = check_number("threshold", threshold, 0, 1)
    content = make_page(posterior, threshold, source).encode("utf-8", "replace")
    write_atomically(target, lambda temporary: _write(temporary, content))


def make_page(posterior: Posterior, threshold: float | None = None, source: str = "") -> str:
    """Return the report as HTML; parameters as for :func:`write_report`."""
    style, script = _read("report.css"), _script()
    engine = str(posterior.settings.get("engine", "unknown"))
    draws, counts = posterior.draws, count_classes(posterior.edge_bayes_factor)
    rows = posterior.settings.get("n_rows")
    subtitle = [counted(posterior.n_nodes, "node")] + ([counted(rows, "row")] if rows else [])
    chains = f"{counted(draws.n_chains, 'chain')} of {counted(draws.n_draws, 'draw')}"
    subtitle += [f"engine: {engine}", chains]
    return Template(_read("template.html")).substitute(
        policy=_policy(style, script),
        style=style,
        script=script,
        data=_safe_json(report_payload(posterior, threshold)),
        subtitle=escape(" \N{MIDDLE DOT} ".join(subtitle)),
        source=f'<p class="subtitle">{escape(source)}</p>' if source else "",
        cards="\n".join(_card(name, counts[name]) for name in CLASSES),
        classes="\n".join(_option(name) for name in (*CLASSES, NOT_ASSESSED) if counts[name]),
        converged="Converged" if posterior.converged else "Not converged",
        convergence_note="the chains agree" if posterior.converged else "read with care",
        state="good" if posterior.converged else "bad",
        verdict=escape(verdict(posterior)),
        sentences=_paragraphs(sentences(posterior)),
        warnings=_warnings(warnings_in_words(posterior)),
        coupling_help=_explanations(coupling_help(posterior)),
        settings=_definitions(main_settings(posterior)),
        all_settings=escape(all_settings(posterior)),
        methods=_paragraphs(posterior.methods_text().split("\n\n")),
        version=escape(slabfield.__version__),
    )


def _card(name: str, count: int) -> str:
    """Return the card of a class of evidence: its number of edges."""
    kind = name.rsplit(maxsplit=1)[-1]
    label = name if kind == name else name.replace(kind, f"evidence {kind}")
    return (
        f'<div class="card {kind}"><strong>{count:,}</strong><span>{label}<br>'
        f"<small>{RANGES[name]}</small></span></div>"
    )


def _option(name: str) -> str:
    shown = f"{name} ({RANGES[name]})" if name in RANGES else name
    return f'<option value="{name}">{shown}</option>'


def _script() -> str:
    """Concatenate the scripts inside one function, so that they define no globals."""
    parts = "\n".join(_read(f"{name}.js") for name in SCRIPTS)
    return f'\n(() => {{\n"use strict";\n{parts}}})();\n'


def _read(name: str) -> str:
    return files("slabfield.report").joinpath("assets", name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    """Content security policy that allows the page's own style and script, and no requests."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _safe_json(payload: dict[str, Any]) -> str:
    """Serialize as JSON without characters that HTML could read as markup."""
    text = json.dumps(payload, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _paragraphs(texts: Iterable[str]) -> str:
    return "\n".join(f"<p>{escape(text)}</p>" for text in texts)


def _explanations(texts: Mapping[str, str]) -> str:
    """Return a paragraph on each term, which is bold where it first occurs."""
    paragraphs = (escape(text).replace(term, f"<b>{term}</b>", 1) for term, text in texts.items())
    return "\n".join(f"<p>{text}</p>" for text in paragraphs)


def _warnings(texts: Iterable[str]) -> str:
    items = "\n".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<ul class="warnings">{items}</ul>' if items else ""


def _definitions(rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
