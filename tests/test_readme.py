"""The code in the README runs, and the files it names are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_python_in_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert "inclusion_probability" in capsys.readouterr().out
    assert (tmp_path / "network.png").exists()


def test_the_picture_and_the_files_named_exist() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"\]\(([^):]+)\)|`((?:docs/)?\w+\.(?:md|cff))`", readme)
    paths = {first or second for first, second in named}
    assert "docs/images/demo-network.png" in paths
    missing = {path for path in paths if not (ROOT / path).exists()}
    assert missing == set()
