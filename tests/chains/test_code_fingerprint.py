"""The code fingerprint of a checkpoint covers what draws depend on, and nothing else."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import slabfield
from slabfield.chains.code_fingerprint import _sampler_modules, code_fingerprint

PACKAGE = Path(slabfield.__file__).parent


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PACKAGE, tmp_path / "slabfield"))


def replace(old: str, new: str) -> Callable[[str], str]:
    def edit(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return edit


def change(root: Path, file: str, edit: Callable[[str], str]) -> bool:
    """Edit a file; return whether the fingerprint changes."""
    before = code_fingerprint.__wrapped__(root)
    path = root / file
    path.write_text(edit(path.read_text(encoding="utf-8")), encoding="utf-8")
    return bool(code_fingerprint.__wrapped__(root) != before)


def test_the_fingerprint_does_not_depend_on_the_place(root: Path) -> None:
    assert code_fingerprint.__wrapped__(root) == code_fingerprint()


@pytest.mark.parametrize(
    ("file", "edit"),
    [
        ("moves/edge_gibbs.py", replace('"""', '"""Changed: ')),
        ("moves/edge_gibbs.py", lambda text: f"{text}\n# a comment\n"),
        ("kernels/l1_nodes.py", lambda text: f"{text}\nADDED = 1\n"),
        ("baselines/tree.py", lambda text: f"{text}\nADDED = 1\n"),
        ("chains/checkpoint.py", lambda text: f"{text}\nADDED = 1\n"),
        ("validation/errors.py", lambda text: f"{text}\nADDED = 1\n"),
    ],
    ids=["docstring", "comment", "L1 kernel", "baseline", "files", "messages"],
)
def test_changes_that_keep_the_fingerprint(
    root: Path, file: str, edit: Callable[[str], str]
) -> None:
    assert not change(root, file, edit)


@pytest.mark.parametrize(
    ("file", "edit"),
    [
        ("moves/particle_noise.py", replace("1.0", "2.0")),
        ("kernels/gibbs.py", lambda text: f"{text}\nADDED = 1\n"),
        ("_jit/vector_code.py", lambda text: f"{text}\nADDED = 1\n"),
        ("adaptation/starts.py", lambda text: f"{text}\nADDED = 1\n"),
        ("chains/collapsed_chain.py", lambda text: f"{text}\nADDED = 1\n"),
        ("chains/engine_parts.py", lambda text: f"{text}\nADDED = 1\n"),
    ],
    ids=["constant", "kernel", "compiler", "warm-up", "chain", "engines"],
)
def test_changes_of_the_fingerprint(root: Path, file: str, edit: Callable[[str], str]) -> None:
    assert change(root, file, edit)


# Predictions use it, chains do not
NOT_SAMPLED = PACKAGE / "models" / "energy_field.py"


@pytest.mark.parametrize("part", ["moves", "likelihood", "adaptation", "models"])
def test_all_moves_and_engines_are_covered(part: str) -> None:
    covered = {path for path in _sampler_modules(PACKAGE) if path.parent.name == part}
    missing = {*(PACKAGE / part).glob("*.py")} - covered - {PACKAGE / part / "__init__.py"}
    assert covered
    assert missing - {NOT_SAMPLED} == set()
