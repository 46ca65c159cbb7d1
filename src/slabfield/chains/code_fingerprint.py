"""Fingerprint of the code that a chain's draws depend on; a run resumes only with the same.

It covers the chains and whatever they import of the sampler's packages, without docstrings and
comments. Files, messages and baselines are left out: they can change while a run is interrupted.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from functools import cache
from pathlib import Path

from slabfield._jit import numba

ROOT = Path(__file__).parents[1]
# Modules that make draws, and the one that makes the model of a table
STARTS = (
    *("chains/chain_run.py", "chains/row_sums.py", "chains/collapsed_warmup.py"),
    *("chains/*_chain.py", "chains/engine_parts.py", "models/pairwise.py"),
)
# Packages, or modules, whose code changes draws
FOLLOWED = (
    *("_jit", "adaptation", "configuration", "kernels", "likelihood"),
    *("models", "moves", "priors", "problem"),
)


@cache
def code_fingerprint(root: Path = ROOT) -> str:
    """Return a hash of the sampler's code and of the versions of numba and Python."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for path, tree in sorted(_sampler_modules(root).items()):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(ast.dump(_WithoutDocstrings().visit(tree)).encode())
    return digest.hexdigest()[:16]


class _WithoutDocstrings(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        """Drop strings that are statements."""
        text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if text else node


def _sampler_modules(root: Path) -> dict[Path, ast.Module]:
    """Parse the modules that make draws, and those of the sampler that they import."""
    found: dict[Path, ast.Module] = {}
    remaining = [path for name in STARTS for path in root.glob(name)]
    while remaining:
        path = remaining.pop()
        if path not in found:
            found[path] = ast.parse(path.read_text(encoding="utf-8"))
            remaining += _imported(found[path], root)
    return found


def _imported(tree: ast.Module, root: Path) -> list[Path]:
    """Return the files of the sampler's packages that a module imports."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            # a name may be that of a module
            names |= {f"{node.module}", *(f"{node.module}.{alias.name}" for alias in node.names)}
    parts = (name.split(".")[1:] for name in names if name.startswith("slabfield."))
    places = [root.joinpath(*part) for part in parts if part[0] in FOLLOWED]
    files = [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")]
    return [file for file in files if file.exists()]
