"""What all benchmarks share: how to time, how to lay out a table, and what was measured on."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path


def repeat(action: Callable[[], object], times: int) -> Callable[[], None]:
    """Return what calls an action many times, for actions too short to time once."""

    def run() -> None:
        for _ in range(times):
            action()

    return run


def best_times(actions: Mapping[str, Callable[[], object]], n_rounds: int) -> dict[str, float]:
    """CPU seconds of every action: the minimum over ``n_rounds``, with the actions interleaved."""
    best = dict.fromkeys(actions, float("inf"))
    for _ in range(n_rounds):
        for name, action in actions.items():
            start = time.process_time()
            action()
            best[name] = min(best[name], time.process_time() - start)
    return best


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines)


def section(title: str, *parts: str) -> str:
    """Lay out a section: paragraphs are filled, tables and pictures left as they are."""
    filled = [
        part if part[0] in "|!" else textwrap.fill(part, 100, break_on_hyphens=False)
        for part in parts
    ]
    return "\n\n".join([f"## {title}", *filled]) + "\n"


def sampler_version() -> str:
    """What tells apart results of one sampler from those of another: its sources."""
    from slabfield.chains.code_fingerprint import code_fingerprint

    return code_fingerprint()


def kept(file: Path, make: Callable[[], dict]) -> dict:
    """Return what is kept in a JSON file; make it, and keep it whole, where there is none."""
    if not file.exists():
        text = json.dumps(make(), default=float)
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial")
        partial.write_text(text)
        partial.replace(file)
        print(f"{file.stem}: {text}", flush=True)
    return json.loads(file.read_text())


def verdict(good: bool) -> str:
    return "holds" if good else "does not hold"


def _processor() -> str:
    """Model of the processor as the system names it, without anything about the machine."""
    source = Path("/proc/cpuinfo")
    if source.exists():
        for line in source.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _compiler() -> str:
    if shutil.which("gcc") is None:
        return "not found"
    command = ["gcc", "-dumpfullversion"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def setting() -> str:
    """One line that says what was measured on."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numba", "llvmlite", "numpy"))
    return (
        f"Processor: {_processor()}. Python {platform.python_version()}, {packages}, "
        f"gcc {_compiler()}."
    )
