"""Every bad input tried, and the message it gets: writes docs/bad-input.md.

Run by ``make bad-input``. The real thing is run, and nothing is fitted: all of it is refused before
that. ``tests/test_bad_input.py`` compares the page with what is said now.
"""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bad_files import posterior_files, table_files
from bad_options import checkpoints, options, weights
from bad_tables import PARAMETERS, TABLES, WARNED
from timing import table

PAGE = Path(__file__).parents[1] / "docs" / "bad-input.md"
HEAD = """# Bad input, and the message it gets

Made by `make bad-input` (`benchmarks/bad_input.py`), which hands in all of this and writes down
what is said; a test compares the page with what is said now. In Python the messages are those of
`slabfield.checks.InputError`, a `ValueError`; on the command line they are printed after `Error:`
on standard error, with the names that parameters have there, and the exit code is 2. Nothing is
fitted and nothing written over in any of these cases.

"""
LONGEST = 600


class NotRefusedError(Exception):
    """Bad input that nobody minded."""


def refusal(action: Callable[[], Any]) -> str:
    """Return the message with which something is refused."""
    from slabfield.checks import InputError, InputWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        try:
            action()
        except InputError as error:
            return str(error)
    raise NotRefusedError


def warning(X: Any) -> str:
    """Return what is warned of in a table that can be used."""
    from slabfield.checks import InputWarning, code_binary

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        code_binary(X)
    return " ".join(str(w.message) for w in caught if issubclass(w.category, InputWarning))


def cell(message: str) -> str:
    """Write a message so that a Markdown table shows it as it is."""
    text = message if len(message) <= LONGEST else f"{message[: LONGEST - 3]}..."
    for letter in "\\`*_|<>[]":
        text = text.replace(letter, f"\\{letter}")
    return text.replace("\n", "<br>")


def fit(X: Any, **parameters: Any) -> None:
    from slabfield import SpikeSlabMRF

    SpikeSlabMRF(**parameters).fit(X)


@contextmanager
def scratch() -> Iterator[Path]:
    """Work in an empty folder, so that messages name files without one."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield Path()
        finally:
            os.chdir(before)


def sections() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Try everything, and yield titles with pairs of what was tried and what was said."""
    from slabfield import load_posterior
    from slabfield.checks import code_binary
    from slabfield.checks.reading import read_table

    yield "Tables", [(name, refusal(lambda X=X: fit(X))) for name, X in TABLES.items()]
    yield (
        "Tables that can be used, with a warning",
        [(name, warning(X)) for name, X in WARNED.items()],
    )
    good = [[0, 1, 0], [1, 0, 1], [1, 1, 0], [0, 0, 1]]
    yield (
        "Parameters",
        [
            (
                ", ".join(f"`{name}={_shown(value)}`" for name, value in given.items()),
                refusal(lambda given=given: fit(given.get("X", good), **_without_x(given))),
            )
            for given in PARAMETERS
        ],
    )
    for title, tried in (
        ("Weights of rows (`sample_weight`)", weights),
        ("Options of the command line", options),
        ("Checkpoints", checkpoints),
    ):
        with scratch() as folder:
            # the size of a checkpoint depends on the time that its run took
            yield title, [(what, _unsized(refusal(action))) for what, action in tried(folder)]
    with scratch() as folder:
        yield (
            "Files with tables",
            [
                (what, refusal(lambda path=path: code_binary(read_table(path))))
                for what, path in table_files(folder)
            ],
        )
    with scratch() as folder:
        yield (
            "Files with posteriors",
            [
                (what, refusal(lambda path=path: load_posterior(path)))
                for what, path in posterior_files(folder)
            ],
        )


def _unsized(message: str) -> str:
    return re.sub(r"\([\d,]+ bytes\)", "(so many bytes)", message)


def _without_x(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != "X"}


def _shown(value: Any) -> str:
    if hasattr(value, "shape"):
        return f"array of shape {value.shape}"
    return repr(value).replace("|", "\\|")


def page() -> str:
    parts = [
        f"## {title}\n\n"
        + table(("what", "message"), [(what, cell(said)) for what, said in tried])
        + "\n"
        for title, tried in sections()
    ]
    return HEAD + "\n".join(parts)


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    print(f"Written: {PAGE.name}")


if __name__ == "__main__":
    main()
