"""Equations become MathML when the site is built: browsers show it by themselves, offline too."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from latex2mathml.converter import convert

INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
DISPLAY = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)
TAG = re.compile(r"\\tag\{(\w+)\}")


def on_page_content(html: str, **_: Any) -> str:
    """Convert every equation of a page; a numbered one can be linked to, as ``#equation-7``."""
    return INLINE.sub(_inline, DISPLAY.sub(_display, html))


def _inline(found: re.Match[str]) -> str:
    return _mathml(unescape(found[1]), "inline")


def _display(found: re.Match[str]) -> str:
    source = unescape(found[1])
    tag = TAG.search(source)
    formula = _mathml(TAG.sub("", source), "block")
    if tag is None:
        return f'<div class="equation"><div class="formula">{formula}</div></div>'
    number = f'<a class="number" href="#equation-{tag[1]}">({tag[1]})</a>'
    return (
        f'<div class="equation" id="equation-{tag[1]}"><div class="formula">{formula}</div>'
        f"{number}</div>"
    )


def _mathml(source: str, display: str) -> str:
    mathml: str = convert(source.strip(), display=display)
    if "\\" in mathml:
        raise ValueError(f"latex2mathml left a command as it is in: {source}")
    # \sim is a relation, with space on both sides; latex2mathml takes it for a letter
    return mathml.replace("<mi>&#x0007E;</mi>", "<mo>&#x0223C;</mo>")
