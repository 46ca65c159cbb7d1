"""The checkpoint of an estimator's run: write its header, check it, read it back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

import numpy as np

import slabfield
from slabfield import encoding, validation
from slabfield.chains.checkpoint import (
    HEADER,
    Checkpoint,
    cannot_write,
    pack,
    plain_failures,
    unpack,
)
from slabfield.chains.code_fingerprint import code_fingerprint
from slabfield.chains.parallel import Outcome
from slabfield.encoding.row_layout import RowLayout
from slabfield.estimators.run_goal import Goal
from slabfield.posterior.wording import of_chains
from slabfield.validation.errors import warn_user

# Subfolder of an output folder of the command line for the states of the chains
CHECKPOINT = "checkpoint"
# End of a message about a damaged header: what to do
DELETE_ADVICE = "Delete the folder and fit again"


def versions() -> dict[str, str]:
    """Return the versions of all software that can change the draws."""
    others = {name: version(name) for name in ("numpy", "scipy", "numba")}
    return {"slabfield": slabfield.__version__, "python": python_version(), **others}


# Settings that are no part of a run's identity: versions are compared one by one, and shares follow
# from the data, which have a fingerprint, whatever the name of their file
NOT_IDENTITY = frozenset({"versions", "level_shares", "file", "tolerance"})


def begin_run(
    checkpoint: Checkpoint,
    estimator: Any,
    table: encoding.CodedTable,
    run_settings: dict[str, Any],
    goal: Goal,
) -> int:
    """Write the header of a new run, or check that the folder holds this same run.

    Parameters
    ----------
    goal : Goal
        What the run is to reach, if it is a new one.

    Returns
    -------
    int
        The seed.
    """
    parameters = estimator.get_params(deep=False)
    stored = checkpoint.run_record.get("identity", {}) if checkpoint.run_record else {}
    asked = parameters["random_state"]
    seed = stored["seed"] if asked is None and "seed" in stored else validation.seed_of(asked)
    identity = {
        **{name: run_settings[name] for name in run_settings if name not in NOT_IDENTITY},
        "n_draws": parameters["n_draws"] or run_settings["n_draws"],
        "max_draws": parameters["max_draws"], "seed": seed,
        "names": table.names, "kinds": [variable.kind for variable in table.variables],
        "scores": [list(variable.scores) for variable in table.variables],
        "slabfield": run_settings["versions"]["slabfield"],
        "code": code_fingerprint(),
    }  # fmt: skip
    arrays = {"rows": _layout(table.variables).pack(table.rows)}
    record = {
        "parameters": pack(parameters | {"random_state": seed}, arrays, {}, "parameters"),
        "variables": [variable.as_record() for variable in table.variables],
        "table": pack(list(table[2:]), arrays, {}, "table"),
        "versions": run_settings["versions"], "goal": list(goal), "stopped_by": "",
        "file": run_settings.get("file", ""),
    }  # fmt: skip
    with refuse_unwritable(checkpoint):
        checkpoint.begin(identity, record, arrays)
    return seed


def recorded_goal(checkpoint: Checkpoint) -> Goal:
    """Return what the run of a checkpoint is to reach."""
    with plain_failures(checkpoint.header, DELETE_ADVICE):
        n_draws, until_converged, max_draws = (checkpoint.run_record or {})["goal"]
        return Goal(int(n_draws), bool(until_converged), int(max_draws))


def recorded_file(checkpoint: Checkpoint) -> str:
    """Return the name of the file with which a run began; empty if it did not begin with one."""
    return str((checkpoint.run_record or {}).get("file", ""))


def recorded_draws(checkpoint: Checkpoint) -> int:
    """Return the draws of each chain with which the run of a checkpoint ended."""
    with plain_failures(checkpoint.header, DELETE_ADVICE):
        return int((checkpoint.run_record or {})["n_draws"])


def record_goal(checkpoint: Checkpoint, goal: Goal) -> None:
    """Record what a run is to reach from now on; a run that is complete stays so."""
    same = recorded_goal(checkpoint) == goal
    if not same or checkpoint.stopped_by in ("time", "interrupt"):
        with refuse_unwritable(checkpoint):
            checkpoint.update({"goal": list(goal), "stopped_by": ""})


def checkpoint_folder(path: str | os.PathLike[str]) -> Path:
    """Return the folder of a checkpoint, given itself or the output folder that contains it."""
    inside = Path(path) / CHECKPOINT
    return inside if (inside / HEADER).exists() else Path(path)


@contextmanager
def refuse_unwritable(checkpoint: Checkpoint) -> Iterator[None]:
    """Turn a failure to write the header into an input error."""
    try:
        yield
    except OSError as error:
        raise cannot_write(checkpoint.folder, error) from None


def read_run(checkpoint: Checkpoint) -> tuple[dict[str, Any], encoding.CodedTable]:
    """Return the estimator's parameters and the table with which a run began."""
    record, arrays = checkpoint.run_record, checkpoint.arrays
    if record is None:
        raise validation.InputError(
            "not-a-checkpoint",
            "{parameter} must be the folder of a run; {folder} holds no {file}. Name the folder "
            "that was passed to fit.",
            parameter=validation.Parameter("checkpoint"),
            folder=checkpoint.folder,
            file=checkpoint.header.name,
        )
    with plain_failures(checkpoint.header, DELETE_ADVICE):
        parameters = unpack(record["parameters"], arrays, {}, ())
        variables = tuple(encoding.Variable.from_record(each) for each in record["variables"])
        rows = _layout(variables).unpack(arrays["rows"])
        if np.any(rows >= [variable.n_levels for variable in variables]):
            raise ValueError("codes of rows beyond the levels of their columns")
        rest = unpack(record["table"], arrays, {}, ())
        return parameters, encoding.CodedTable(rows, variables, *rest)


def _layout(variables: Sequence[encoding.Variable]) -> RowLayout:
    return RowLayout([variable.n_levels for variable in variables])


class InterruptedInWarmUp(KeyboardInterrupt):
    """Ctrl-C during warm-up: there are no draws; ``what`` says how far the warm-up had come."""

    def __init__(self, n_warmed: Sequence[int], n_warmup: int, folder: Path) -> None:
        low, high = min(n_warmed), max(n_warmed)
        made = f"{low}" if low == high else f"{low} to {high}"
        self.what = f"warm-up had made {made} of its {n_warmup} draws per chain, which are kept"
        if high == 0:
            self.what = "warm-up had not begun, so that nothing is kept"
        self.what += "; there are no results yet"
        super().__init__(
            f"Interrupted; {self.what}. resume() continues, here or in another process: "
            f"SpikeSlabMRF.from_checkpoint({str(folder)!r}).resume()."
        )


def end_run(checkpoint: Checkpoint, outcome: Outcome) -> None:
    """Record the end of a run; where Ctrl-C stopped it, warn and say how to continue."""
    n_draws = len(outcome.results[0].record.bias) if outcome.results else 0
    checkpoint.end(outcome.stopped_by, n_draws)
    if outcome.stopped_by != "interrupt":
        return
    if not outcome.results:
        n_warmed, n_warmup = [run.n_warmed for run in outcome.runs], outcome.runs[0].n_warmup
        raise InterruptedInWarmUp(n_warmed, n_warmup, checkpoint.folder)
    warn_user(
        validation.InputWarning(
            "interrupted",
            "Ctrl-C ended the run after {n_draws} draws of {chains}. "
            "resume() continues, here or in another process: "
            "SpikeSlabMRF.from_checkpoint({folder!r}).resume().",
            n_draws=n_draws,
            chains=of_chains(len(outcome.results), len(outcome.runs)),
            folder=str(checkpoint.folder),
        ),
    )
