"""The checkpoint of an estimator's run: write its header, check it, read it back."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from platform import python_version
from typing import Any

import numpy as np

import slabfield
from slabfield import encoding, validation
from slabfield.chains.checkpoint import Checkpoint, cannot_write, pack, plain_failures, unpack
from slabfield.chains.code_fingerprint import code_fingerprint
from slabfield.chains.parallel import Outcome


def versions() -> dict[str, str]:
    """Return the versions of all software that can change the draws."""
    others = {name: version(name) for name in ("numpy", "scipy", "numba")}
    return {"slabfield": slabfield.__version__, "python": python_version(), **others}


def begin_run(
    checkpoint: Checkpoint,
    estimator: Any,
    table: encoding.CodedTable,
    run_settings: dict[str, Any],
) -> tuple[int, int | None]:
    """Write the header of a new run, or check that the folder holds this same run.

    Returns
    -------
    int, int or None
        The seed, and the number of draws to which the run was extended, if it was.
    """
    parameters = estimator.get_params(deep=False)
    stored = checkpoint.run_record.get("identity", {}) if checkpoint.run_record else {}
    asked = parameters["random_state"]
    seed = stored["seed"] if asked is None and "seed" in stored else validation.seed_of(asked)
    identity = {
        **{name: run_settings[name] for name in run_settings if name != "versions"},
        "n_draws": parameters["n_draws"] or run_settings["n_draws"],
        "max_draws": parameters["max_draws"], "seed": seed,
        "names": table.names, "slabfield": run_settings["versions"]["slabfield"],
        "code": code_fingerprint(),
    }  # fmt: skip
    arrays = {"rows": np.packbits(table.rows)}
    record = {
        "parameters": pack(parameters | {"random_state": seed}, arrays, {}, "parameters"),
        "shape": list(table.rows.shape),
        "variables": [variable.as_record() for variable in table.variables],
        "table": pack(list(table[2:]), arrays, {}, "table"),
        "versions": run_settings["versions"],
    }
    with refuse_unwritable(checkpoint):
        checkpoint.begin(identity, record, arrays)
    return seed, (checkpoint.run_record or {}).get("goal")


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
    with plain_failures(checkpoint.header, "Delete the folder and fit again"):
        parameters = unpack(record["parameters"], arrays, {}, ())
        shape = tuple(record["shape"])
        rows = np.unpackbits(arrays["rows"], count=shape[0] * shape[1]).reshape(shape)
        variables = tuple(encoding.Variable.from_record(each) for each in record["variables"])
        rest = unpack(record["table"], arrays, {}, ())
        return parameters, encoding.CodedTable(rows, variables, *rest)


def end_run(checkpoint: Checkpoint, outcome: Outcome) -> None:
    """Mark a run as finished; where Ctrl-C stopped it, warn and say how to continue."""
    if outcome.stopped_by != "interrupt":
        checkpoint.finish()
        return
    if not outcome.results:
        raise KeyboardInterrupt("The run was stopped before the first draw.")
    n_draws, n_chains = len(outcome.results[0].record.bias), len(outcome.results)
    warnings.warn(
        validation.InputWarning(
            "interrupted",
            "Ctrl-C ended the run after {n_draws} draws of {n_chains} of its {n_planned} chains. "
            "The same call continues it, as does SpikeSlabMRF.resume({folder!r}).",
            n_draws=n_draws,
            n_chains=n_chains,
            n_planned=len(outcome.runs),
            folder=str(checkpoint.folder),
        ),
        stacklevel=4,
    )
