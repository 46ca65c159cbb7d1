"""The page of bad input says what is said now."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script():
    pytest.importorskip("pyarrow")
    pytest.importorskip("openpyxl")
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import bad_input

        yield bad_input
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def without_others_words(page: str) -> list[str]:
    """Leave out what other packages say, and sizes of their files."""
    page = re.sub(r"(failed with|cannot be read|damaged one|found): [^|]*", r"\1", page)
    return re.sub(r"\([0-9,]+ bytes\)", "(bytes)", page).splitlines()


def test_the_page_is_not_stale(script) -> None:
    kept = (ROOT / "docs" / "bad-input.md").read_text(encoding="utf-8")
    assert without_others_words(kept) == without_others_words(script.page()), "make bad-input"


def test_every_message_says_what_to_do(script) -> None:
    """The last sentence advises: it is one of at least three parts."""
    page = (ROOT / "docs" / "bad-input.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")]
    messages = {row[0]: row[1] for row in rows if row[1] != "message |"}
    assert len(messages) > 100
    for what, message in messages.items():
        assert len(re.split(r"[.?;] |<br>", message)) >= 2, what
        assert len(message) < 800, what


def test_what_is_not_refused_is_noticed(script) -> None:
    with pytest.raises(script.NotRefusedError):
        script.refusal(lambda: None)
