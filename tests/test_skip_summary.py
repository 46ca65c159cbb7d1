"""A test run ends with what was skipped and why: one line for each reason, with its number."""

import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).with_name("conftest.py")

TESTS = """
import pytest

@pytest.mark.parametrize("k", range(3))
def test_in_a_browser(k):
    pytest.skip("no browser: install one")

@pytest.mark.skipif(True, reason="no data: set DATA")
def test_with_data():
    pass

@pytest.mark.xfail(reason="known", strict=True)
def test_that_fails_as_expected():
    assert False

def test_that_passes():
    pass
"""
FILE = 'import pytest\npytest.importorskip("nosuch", reason="nosuch is missing: install it")\n'


def run_tests(folder: Path, *options: str) -> list[str]:
    (folder / "conftest.py").write_bytes(CONFTEST.read_bytes())
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rfEX", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()


def summary(lines: list[str]) -> list[str]:
    (start,) = (k for k, line in enumerate(lines) if line.strip("= ") == "skipped")
    end = next(k for k, line in enumerate(lines) if k > start and line.startswith("==="))
    return [line for line in lines[start + 1 : end] if line]


def test_one_line_for_each_reason(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(TESTS)
    (tmp_path / "test_two.py").write_text(FILE)
    expected = [
        "3 tests: no browser: install one",
        "1 test: no data: set DATA",
        "1 file of tests: nosuch is missing: install it",
    ]
    for options in (("-n", "0"), ("-n", "2")):
        assert summary(run_tests(tmp_path, *options)) == expected


def test_no_summary_if_nothing_was_skipped(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_that_passes():\n    pass\n")
    assert not any(line.strip("= ") == "skipped" for line in run_tests(tmp_path))
