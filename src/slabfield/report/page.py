"""The page: templates, data and words put together, and written whole or not at all."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import slabfield
from slabfield.files import check_target, write_atomically
from slabfield.report.facts import gather
from slabfield.report.words import all_settings, count_edges, how_made, sentences, verdict

if TYPE_CHECKING:
    from slabfield.posterior import Posterior

SCRIPTS = ("common", "network", "network_view", "edges", "matrix", "convergence", "start")


def write_report(posterior: Posterior, path: str | os.PathLike[str]) -> None:
    """Write a posterior as one HTML file, which opens offline and appears whole or not at all.

    Parameters
    ----------
    posterior : Posterior
        What a run returned.
    path : str or path
        The file, in a folder that exists; by custom its name ends in ``.html``.

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
    content = make_page(posterior).encode("utf-8", "replace")
    write_atomically(target, lambda temporary: _write(temporary, content))


def make_page(posterior: Posterior) -> str:
    """Return the page as text."""
    style, script = _read("report.css"), _script()
    engine = str(posterior.settings.get("engine", "unknown"))
    draws, counts = posterior.draws, count_edges(posterior)
    rows = posterior.settings.get("n_rows")
    made_from = [f"{posterior.n_nodes} nodes"] + ([f"{rows:,} rows"] if rows else [])
    made_from += [f"engine: {engine}", f"{draws.n_chains} chains of {draws.n_draws:,} draws"]
    return Template(_read("template.html")).substitute(
        policy=_policy(style, script),
        style=style,
        script=script,
        data=_island(gather(posterior)),
        made_from=escape(" \N{MIDDLE DOT} ".join(made_from)),
        supported=f"{counts.supported:,}",
        undecided=f"{counts.undecided:,}",
        absent=f"{counts.absent:,}",
        converged="Converged" if posterior.converged else "Not converged",
        chains_say="the chains agree" if posterior.converged else "read with care",
        state="good" if posterior.converged else "bad",
        verdict=escape(verdict(posterior)),
        sentences="\n".join(f"<p>{escape(text)}</p>" for text in sentences(posterior)),
        warnings=_warnings(posterior.warnings),
        settings=_definitions(how_made(posterior)),
        all_settings=escape(all_settings(posterior)),
        version=escape(slabfield.__version__),
    )


def _script() -> str:
    """Put the scripts together in one function, so that nothing of them is global."""
    parts = "\n".join(_read(f"{name}.js") for name in SCRIPTS)
    return f'\n(() => {{\n"use strict";\n{parts}}})();\n'


def _read(name: str) -> str:
    return files("slabfield.report").joinpath("assets", name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    """Allow the page its own style and script and nothing else; no request leaves it."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _island(facts: dict[str, Any]) -> str:
    """JSON in which nothing can be taken for markup, whatever the names of nodes are."""
    text = json.dumps(facts, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _warnings(texts: Iterable[str]) -> str:
    items = "\n".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<ul class="warnings">{items}</ul>' if items else ""


def _definitions(rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
