"""Pages of the site that are kept elsewhere in the project; roles of docstrings as code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
KEPT_ELSEWHERE = {
    "speed.md": "benchmarks/RESULTS.md",
    "cost-by-nodes.png": "benchmarks/cost-by-nodes.png",
    "changes.md": "CHANGELOG.md",
}
# :meth:`x` of a docstring, after Markdown has made code of its second half
FETCHED = re.compile(r'<(?:script|img|iframe)[^>]* src="?https?:|<link[^>]* href="?https?:[^>]*css')
ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):(<code[^>]*>)~?")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are not in the folder of the site."""
    for target, source in KEPT_ELSEWHERE.items():
        files.append(File.generated(config, target, abs_src_path=str(ROOT / source)))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Show what a role refers to as code."""
    return ROLE.sub(r"\1", html)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuse a page that fetches anything when it is opened: the site works offline."""
    found = FETCHED.search(output)
    if found is not None:
        raise PluginError(f"{page.file.src_uri} fetches from elsewhere: {found[0]}...")
    return output
