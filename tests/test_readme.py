"""The files that the README names are there; its code runs in test_docs.py."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_picture_and_the_files_named_exist() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"\]\(([^):]+)\)|`((?:docs/|benchmarks/)?[\w-]+\.(?:md|cff))`", readme)
    paths = {first or second for first, second in named}
    assert {"docs/images/demo-network.png", "docs/default-accuracy.md"} <= paths
    missing = {path for path in paths if not (ROOT / path).exists()}
    assert missing == set()
