"""The end of a test run says what was skipped and why, one line for each reason."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest


def pytest_terminal_summary(terminalreporter: Any) -> None:
    lines = skip_lines(terminalreporter.stats.get("skipped", []))
    if lines:
        terminalreporter.section("skipped")
        for line in lines:
            terminalreporter.write_line(line)


def skip_lines(reports: Iterable[Any]) -> list[str]:
    """Return one line for each reason, with the number of tests, or of files, most first."""
    tests: Counter[str] = Counter()
    files: dict[str, set[str]] = {}
    for report in reports:
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if isinstance(report, pytest.CollectReport):
            files.setdefault(reason, set()).add(report.nodeid)
        else:
            tests[reason] += 1
    return [f"{_counted(n, 'test')}: {reason}" for reason, n in tests.most_common()] + [
        f"{_counted(len(ids), 'file')} of tests: {reason}" for reason, ids in files.items()
    ]


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
