"""The architecture: what imports what, and what is imported when."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import slabfield
from slabfield._jit import COMPILED

PACKAGE = Path(slabfield.__file__).parent

PAGE = Path(__file__).parents[1] / "docs" / "developer" / "architecture.md"


def order_on(page: str) -> tuple[str, ...]:
    """Return the packages in the table of the architecture page, in its order."""
    table = page.partition("## Who may import whom")[2]
    return tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))


ORDER = order_on(PAGE.read_text(encoding="utf-8"))
"""A package imports only those before it; the package's own ``__init__`` may name them all."""

HEAVY = (
    *("numba", "scipy", "pandas", "matplotlib", "numpy", "sklearn", "networkx"),
    *("arviz_stats", "xarray", "h5py", "narwhals", "dask", "distributed"),
)


def part_of(path: Path, package: Path) -> str:
    """Return the folder or file directly below the package that a file belongs to."""
    return path.relative_to(package).parts[0].removesuffix(".py")


def imported_modules(path: Path) -> Iterator[tuple[int, str]]:
    """Find every import in a file, those within functions and under TYPE_CHECKING included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            # "from slabfield import datasets" imports slabfield.datasets.
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def find_violations(package: Path, order: tuple[str, ...] = ORDER) -> list[str]:
    """List the imports that go up the order, the relative ones, and parts not in the order."""
    found = []
    rank = {part: k for k, part in enumerate(order)}
    homes = {
        "SpikeSlabMRF": "estimators",
        "Posterior": "posterior",
        "load_posterior": "posterior",
    }
    for path in sorted(package.rglob("*.py")):
        part = part_of(path, package)
        if path == package / "__init__.py":
            continue
        where = path.relative_to(package)
        if part not in rank:
            found.append(f"{where}: '{part}' has no place in the order")
            continue
        for line, module in imported_modules(path):
            if module.startswith("."):
                found.append(f"{where}:{line}: relative import")
                continue
            names = module.split(".")
            if names[0] != package.name or len(names) < 2:
                continue
            target = homes.get(names[1], names[1])
            if target in rank and target != part and rank[target] > rank[part]:
                found.append(f"{where}:{line}: {part} imports {target}")
    return found


def importers_of(module: str, package: Path) -> set[str]:
    """Return the files that import a module or anything in it."""
    return {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if any(name.split(".")[0] == module for _, name in imported_modules(path))
    }


def test_the_page_lists_every_package_once() -> None:
    parts = {part_of(path, PACKAGE) for path in PACKAGE.rglob("*.py")} - {"__init__"}
    assert sorted(ORDER) == sorted(parts)


def test_imports_go_down_the_list_only() -> None:
    assert find_violations(PACKAGE) == []


def test_plots_are_used_by_report_and_command_line_only() -> None:
    users = {
        part_of(path, PACKAGE)
        for path in PACKAGE.rglob("*.py")
        if path != PACKAGE / "__init__.py"
        and any(name.startswith("slabfield.plots") for _, name in imported_modules(path))
    }
    assert users <= {"plots", "report", "cli"}


def test_compiled_code_is_kept_by_the_sources_it_is_made_from() -> None:
    kept = {path for pattern in COMPILED for path in PACKAGE.glob(pattern)}
    users = {
        path
        for path in PACKAGE.rglob("*.py")
        for _, name in imported_modules(path)
        # what is compiled otherwise is kept only as a part of these
        if name in {f"slabfield._jit.{how}" for how in ("jit", "generic")}
    }
    assert users
    assert users <= kept
    beyond = {
        f"{path.relative_to(PACKAGE)} imports {name}"
        for path in kept
        for _, name in imported_modules(path)
        if name.startswith("slabfield.")
        # variables and scores are data, from which nothing is compiled
        and not {PACKAGE.parent / (module.replace(".", "/") + end)
                 for module in (name, name.rpartition(".")[0])
                 for end in (".py", "/__init__.py")} & kept
    }  # fmt: skip
    assert not beyond


def test_pairs_are_listed_by_the_index_of_interactions_only() -> None:
    users = {
        part_of(path, PACKAGE)
        for path in PACKAGE.rglob("*.py")
        if "triu_indices" in path.read_text(encoding="utf-8")
    }
    assert users <= {"kernels", "models"}


@pytest.mark.parametrize("module", ["numba", "llvmlite"])
def test_numba_is_imported_in_one_folder(module: str) -> None:
    assert {Path(path).parts[0] for path in importers_of(module, PACKAGE)} == {"_jit"}


@pytest.mark.parametrize(
    ("file", "source", "expected"),
    [
        ("validation.py", "from slabfield.models import field", "validation imports models"),
        ("validation.py", "import slabfield.cli.app", "validation imports cli"),
        ("models/a.py", "from slabfield import cli", "models imports cli"),
        (
            "models/a.py",
            "def f():\n    import slabfield.moves.reversible_jump",
            "models imports moves",
        ),
        ("chains/run.py", "from slabfield import SpikeSlabMRF", "chains imports estimators"),
        ("models/a.py", "from . import b", "relative import"),
        ("helpers.py", "x = 1", "no place in the order"),
    ],
)
def test_the_checker_catches_violations(
    tmp_path: Path, file: str, source: str, expected: str
) -> None:
    package = tmp_path / "slabfield"
    (package / "models").mkdir(parents=True)
    (package / "chains").mkdir()
    (package / "__init__.py").write_text("from slabfield.cli import main\n")
    (package / "models" / "fine.py").write_text("import numpy\nfrom slabfield import validation\n")
    assert find_violations(package) == []
    (package / file).write_text(source + "\n")
    violations = find_violations(package)
    assert len(violations) == 1
    assert expected in violations[0]


def test_the_numba_checker_catches_violations(tmp_path: Path) -> None:
    (tmp_path / "_jit.py").write_text("import numba\n")
    (tmp_path / "kernel.py").write_text("def f():\n    from numba.core import types\n")
    assert importers_of("numba", tmp_path) == {"_jit.py", "kernel.py"}


LOADED = "import json, sys; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"


@pytest.mark.parametrize(
    "action",
    [
        "import slabfield",
        "import slabfield; dir(slabfield); slabfield.__version__",
        "import sys; sys.argv = ['slabfield', '--help']\n"
        "from slabfield.cli import main\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert stop.code == 0",
    ],
    ids=["import", "look around", "help"],
)
def test_nothing_heavy_is_imported_before_it_is_needed(action: str) -> None:
    paths = [str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]
    result = subprocess.run(
        [sys.executable, "-c", f"{action}\n{LOADED}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )
    loaded = json.loads(result.stdout.splitlines()[-1])
    assert not set(HEAVY) & set(loaded)


def test_public_names() -> None:
    assert set(slabfield.__all__) <= set(dir(slabfield))
    assert slabfield.datasets.__name__ == "slabfield.datasets"
    assert slabfield.plots.__name__ == "slabfield.plots"
    assert slabfield.report.__name__ == "slabfield.report"
    assert slabfield.baselines.__name__ == "slabfield.baselines"
    assert slabfield.evaluate.__name__ == "slabfield.evaluate"
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        slabfield.nonsense  # noqa: B018
