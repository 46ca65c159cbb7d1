"""Many rows, large files, and memory: writes docs/big-input.md. Run by itself.

``python benchmarks/big_input.py`` measures everything, the large files with a gigabyte each in a
temporary folder; with the names of sections only these, and keeps what is known of the others;
``--quick`` takes tiny sizes and only prints. Every case runs in a process of its own, whose peak is
the kernel's (VmHWM), counted from after a small fit.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from timing import setting, table

PAGE = Path(__file__).parents[1] / "docs" / "big-input.md"
RECORD = Path(__file__).with_suffix(".json")
N_COLUMNS = 20
PIECE = 500_000

HEAD = """# Many rows, large files, memory

Made by `benchmarks/big_input.py`. Every case ran in a process of its own; its peak memory is what
the kernel says, beyond that of a process that has fitted a small table. Times are CPU seconds.

"""
ROWS = """## Rows that are equal are counted

`fit` merges equal rows, and `sample_weight` says how much each counts: whole numbers give the draws
of rows repeated so often, bit for bit, whatever their order. The engines `exact` and `particles`
know the data by weighted sums; the pseudo-likelihood, where it is only a start, by at most 10,000
rows evenly spread over the data. As an answer of its own (`likelihood="pseudo"`) it takes sums over
the different rows, each with what it counts, which takes about twice as long as sums over the same
rows once each, whatever the counts are. Weights may be any numbers.

Here 1,000,000 rows of 16 columns, beside their different rows, each once. *Before* is the time
until the first iteration.

"""
FILES = """## Files of any length

`slabfield fit` reads CSV, TSV and Parquet files of more than 100 MB a chunk at a time, once, into
their different rows (a bit for each entry while reading) and how often each is there;
`slabfield.encoding.read_counted` does so in Python, and `fit` takes what it returns.

"""
MEMORY = """## Memory, stated and checked

Before a run its peak memory is worked out from the rows, nodes, chains, draws and the engine,
written to the log (and to standard error if it is more than half of the memory), and compared with
what is available (the machine's and the container's limits), or with `max_memory`. A run that would
not fit is refused, with what would. It assumes that no more than 10 edges a node are present on
average, counts every row as a different one, and with `n_draws="auto"` goes by the first draws.
Stated should be above measured, and not by much where it is large.

"""


def status(name: str) -> int:
    text = Path("/proc/self/status").read_text()
    return 1024 * int(text.split(f"{name}:")[1].split()[0])


def forget_peak() -> int:
    """Have the kernel count the peak from here; return what is held now."""
    Path("/proc/self/clear_refs").write_text("5")
    return status("VmRSS")


def random_rows(n_rows: int, n_columns: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    share = rng.uniform(0.02, 0.3, n_columns)
    rows = rng.random((n_rows, n_columns), dtype=np.float32) < share
    rows[:, 1::2] |= rows[:, ::2][:, : n_columns // 2] & (rng.random((n_rows, 1)) < 0.7)
    return rows.astype(np.uint8)


def fit_case(case: dict[str, Any]) -> dict[str, Any]:
    """Peak memory of a fit, and what was stated."""
    from slabfield import SpikeSlabMRF
    from slabfield.chains.memory import state_memory
    from slabfield.encoding import code_table

    settings = {k: case[k] for k in ("likelihood", "n_chains", "n_draws")}
    SpikeSlabMRF(n_chains=1, n_warmup=2, n_draws=5, likelihood=case["likelihood"]).fit(
        random_rows(50, 30 if case["likelihood"] != "exact" else 4)
    )
    rows = random_rows(case["n_rows"], case["n_columns"])
    begin = forget_peak()
    model = SpikeSlabMRF(n_warmup=10, random_state=0, n_jobs=2, **settings)
    clock = time.process_time()
    model.fit(rows)
    seconds = time.process_time() - clock
    peak = status("VmHWM") - begin
    settings = model._settings(case["n_rows"], case["n_columns"])
    need = state_memory(code_table(rows), settings, case["n_chains"], "1TB", verbose=False)
    return {"peak": peak, "stated": need.total, "seconds": seconds}


def rows_case(case: dict[str, Any]) -> dict[str, Any]:
    """Seconds before the first iteration, and for an iteration."""
    from slabfield.chains.chain_run import chain_rng
    from slabfield.chains.collapsed_warmup import start_collapsed
    from slabfield.chains.row_sums import rows_and_sums
    from slabfield.configuration import default_exact, default_particles, pseudo
    from slabfield.encoding import code_table
    from slabfield.models.binary import BinaryPairwise
    from slabfield.moves.imputation import new_missing_entries
    from slabfield.moves.iteration import new_record
    from slabfield.priors import Prior
    from slabfield.problem import Problem

    rows = random_rows(case["n_rows"], 16)
    if case["distinct"]:
        rows = np.unique(rows, axis=0)
    made = {"exact": default_exact, "particles": default_particles, "pseudo": pseudo}
    settings = made[case["likelihood"]]()
    model = BinaryPairwise(16)
    clock = time.process_time()
    held, times, sums = rows_and_sums(model, code_table(rows), settings)
    before = time.process_time() - clock
    # as the estimator has it: of another type, everything would be compiled again
    unknown = new_missing_entries(model, held, np.zeros(held.shape, np.bool_))
    problem = Problem(model, held, sums, Prior.standard(model.n_interactions), unknown, times)
    chain = start_collapsed(problem, settings, chain_rng(0, 0))
    nothing = new_record(0, 16, *[model.n_interactions] * 2)
    chain.iterate(nothing, 0, 0, 2)
    found = []
    for _ in range(3):
        clock = time.process_time()
        chain.iterate(nothing, 0, 0, case["n_iterations"])
        found.append((time.process_time() - clock) / case["n_iterations"])
    return {"n_rows": len(rows), "before": before, "iteration": min(found)}


def write_file(path: Path, n_bytes: int) -> int:
    """Write a file of 20 columns of 0 and 1, CSV or plain Parquet; return how many rows it has."""
    n_rows = n_bytes // ((2 if path.suffix == ".csv" else 8) * N_COLUMNS)
    names = [f"item{k}" for k in range(N_COLUMNS)]
    pieces = range(-(-n_rows // PIECE))
    if path.suffix == ".csv":
        with open(path, "wb") as file:
            file.write((",".join(names) + "\n").encode())
            for k in pieces:
                rows = random_rows(min(PIECE, n_rows - k * PIECE), N_COLUMNS, k)
                text = np.full((len(rows), 2 * N_COLUMNS), ord(","), np.uint8)
                text[:, ::2] = rows + ord("0")
                text[:, -1] = ord("\n")
                file.write(text.tobytes())
        return n_rows
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([(name, pa.int64()) for name in names])
    with parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as file:
        for k in pieces:
            rows = random_rows(min(PIECE, n_rows - k * PIECE), N_COLUMNS, k).astype(np.int64)
            columns = [pa.array(column) for column in rows.T]
            file.write_table(pa.table(columns, schema=schema))
    return n_rows


def file_case(case: dict[str, Any]) -> dict[str, Any]:
    """Peak memory and time of reading a file."""
    import pandas  # noqa: F401  held before

    from slabfield.encoding import read_counted

    begin = forget_peak()
    clock = time.process_time()
    read = read_counted(Path(case["path"]))
    seconds = time.process_time() - clock
    return {
        "peak": status("VmHWM") - begin, "seconds": seconds, "n_rows": read.n_rows,
        "different": len(read.rows),
    }  # fmt: skip


CASES = {"fit": fit_case, "rows": rows_case, "file": file_case}


def in_process(kind: str, **case: Any) -> dict[str, Any]:
    print(kind, case, flush=True)
    found = subprocess.run(
        [sys.executable, __file__, "--case", json.dumps({"kind": kind, **case})],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    answer: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    print(answer, flush=True)
    return answer


def rows_section(quick: bool, engines: list[str]) -> str:
    lines = []
    for likelihood in engines:
        for distinct in (False, True):
            found = in_process(
                "rows", likelihood=likelihood, distinct=distinct,
                n_rows=10_000 if quick else 1_000_000, n_iterations=5 if quick else 20,
            )  # fmt: skip
            lines.append(
                (likelihood, "different rows" if distinct else "all rows", f"{found['n_rows']:,}",
                 f"{found['before']:.2f} s", f"{1e3 * found['iteration']:.2f} ms")
            )  # fmt: skip
    return ROWS + table(("engine", "data", "rows", "before", "an iteration"), lines)


def file_section(quick: bool, engines: list[str]) -> str:
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("table.csv", "table.parquet"):
            path = Path(folder) / name
            write_file(path, 10**6 if quick else 10**9)
            found = in_process("file", path=str(path))
            lines.append(
                (path.suffix[1:], f"{path.stat().st_size / 1e6:,.0f} MB", f"{found['n_rows']:,}",
                 f"{found['different']:,}", f"{found['peak'] / 1e6:.0f} MB",
                 f"{found['seconds']:.0f} s")
            )  # fmt: skip
            path.unlink()
    head = ("file", "size", "rows of 20 columns", "different rows", "peak memory", "time")
    return FILES + table(head, lines)


def memory_section(quick: bool, engines: list[str]) -> str:
    sizes = [
        ("exact", 1_000_000, 12, 4, 1_000),
        ("exact", 2_000, 12, 4, 5_000),
        ("particles", 5_000, 60, 2, 200),
        ("pseudo", 50_000, 30, 2, 100),
        ("pseudo", 1_000, 150, 2, 400),
    ]
    lines = []
    for likelihood, n_rows, n_columns, n_chains, n_draws in sizes:
        if likelihood not in engines:
            continue
        n_rows = min(n_rows, 1_000) if quick else n_rows
        found = in_process(
            "fit", likelihood=likelihood, n_rows=n_rows, n_columns=n_columns, n_chains=n_chains,
            n_draws=10 if quick else n_draws,
        )  # fmt: skip
        lines.append(
            (likelihood, f"{n_rows:,}", n_columns, n_chains, f"{n_draws:,}",
             f"{found['stated'] / 1e6:.0f} MB", f"{found['peak'] / 1e6:.0f} MB")
        )  # fmt: skip
    head = ("engine", "rows", "nodes", "chains", "draws", "stated", "measured")
    return MEMORY + table(head, lines)


def page(sections: dict[str, dict[str, str]]) -> str:
    """Write the page of what was measured."""
    parts = []
    for name in SECTIONS:
        if name in sections:
            parts.append(f"{sections[name]['text']}\n\n{sections[name]['setting']}\n")
    return HEAD + "\n".join(parts)


SECTIONS = {"rows": rows_section, "files": file_section, "memory": memory_section}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help="rows, files or memory; all if none is named")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--engines", nargs="*", default=["exact", "particles", "pseudo"])
    parser.add_argument("--case", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.case:
        warnings.simplefilter("ignore")
        case = json.loads(asked.case)
        print(json.dumps(CASES[case["kind"]](case)))
        return
    sections = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    for name in asked.sections or SECTIONS:
        sections[name] = {"text": SECTIONS[name](asked.quick, asked.engines), "setting": setting()}
        print(sections[name]["text"], flush=True)
        if not asked.quick:
            RECORD.write_text(json.dumps(sections, indent=1) + "\n", encoding="utf-8")
            PAGE.write_text(page(sections), encoding="utf-8")


if __name__ == "__main__":
    main()
