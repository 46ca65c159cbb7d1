"""The page of bad input matches the current messages."""

import re
from pathlib import Path

import pytest

from skips import require

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script():
    require("pyarrow")
    require("openpyxl")
    import bad_input

    return bad_input


def without_library_messages(page: str) -> list[str]:
    """Remove the messages of other packages, and the sizes of their files."""
    page = re.sub(r"(failed with|cannot be read|damaged one|found): [^|]*", r"\1", page)
    return re.sub(r"[0-9,]+ bytes", "bytes", page).splitlines()


def test_the_page_is_up_to_date(script) -> None:
    kept = (ROOT / "docs" / "bad-input.md").read_text(encoding="utf-8")
    assert without_library_messages(kept) == without_library_messages(script.page()), (
        "make bad-input"
    )


def test_every_message_says_what_to_do(script) -> None:
    """The last sentence advises: it is one of at least three parts."""
    page = (ROOT / "docs" / "bad-input.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| ")]
    messages = {row[0]: row[1] for row in rows if row[1] != "message |"}
    assert len(messages) > 100
    for what, message in messages.items():
        assert len(re.split(r"[.?;] |<br>", message)) >= 2, what
        assert len(message) < 800, what


def test_accepted_bad_input_is_detected(script) -> None:
    with pytest.raises(script.NotRefusedError):
        script.refusal(lambda: None)
