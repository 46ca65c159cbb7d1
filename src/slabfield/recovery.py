"""Runs that go on: from a checkpoint after an interruption, or to more draws after their end."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.metadata import version
from math import inf
from platform import python_version
from typing import TYPE_CHECKING, Any, Self

import numpy as np

import slabfield
from slabfield import checks
from slabfield._jit import COMPILED, source_fingerprint
from slabfield.draws import Draws
from slabfield.posterior import Posterior
from slabfield.progress import chain_progress
from slabfield.sampler.checkpoint import Checkpoint, cannot_write, pack, plain_failures, unpack
from slabfield.sampler.cluster import Cluster
from slabfield.sampler.connect import open_client
from slabfield.sampler.parallel import Outcome, draw_on
from slabfield.sampler.run import ChainResult
from slabfield.sampler.settings import Settings

if TYPE_CHECKING:
    from distributed import Client


class Recovery:
    """What an estimator needs to go on with a run.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF
    >>> from slabfield.recovery import Recovery
    >>> issubclass(SpikeSlabMRF, Recovery)
    True
    """

    n_jobs: int | None
    posterior_: Any
    _fit_table: Any
    n_chains: int
    progress: bool
    edge_threshold: float
    _runs: Any
    _checkpoint: Checkpoint | None

    @classmethod
    def resume(
        cls,
        checkpoint: str | os.PathLike[str],
        n_draws: int | None = None,
        cluster: Client | str | None = None,
        **others: Any,
    ) -> Self:
        """Go on with a run from its checkpoint, to its end.

        Parameters
        ----------
        checkpoint : path
            The folder that ``fit`` was given.
        n_draws : int, optional
            More draws of each chain, after those that the run was to make.
        cluster : distributed.Client or str, optional
            Where chains run, as for ``fit``.
        **others
            Parameters that do not change the draws: n_jobs, progress, time_budget.

        Returns
        -------
        SpikeSlabMRF
            The estimator, fitted.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from slabfield import SpikeSlabMRF, datasets
        >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
        >>> with TemporaryDirectory() as folder:
        ...     model = SpikeSlabMRF(n_draws=50).fit(rows, checkpoint=folder)
        ...     SpikeSlabMRF.resume(folder, n_draws=20).posterior_.draws.n_draws
        70
        """
        held = Checkpoint(checkpoint)
        parameters, table = read_run(held)
        estimator = cls(**parameters | others)
        checks.check_told(estimator)
        with open_client(cluster) as client:
            estimator._fit_table(table, held, client)
            return estimator if n_draws is None else estimator.extend(n_draws, client)

    def extend(self, n_draws: int, cluster: Client | str | None = None) -> Self:
        """Make more draws of each chain, as if the run had been that much longer.

        Parameters
        ----------
        n_draws : int
            How many more.
        cluster : distributed.Client or str, optional
            Where chains run, as for ``fit``.

        Returns
        -------
        SpikeSlabMRF
            Itself, with a longer posterior.

        Examples
        --------
        >>> from slabfield import SpikeSlabMRF, datasets
        >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
        >>> SpikeSlabMRF(n_draws=50).fit(rows).extend(20).posterior_.draws.n_draws
        70
        """
        checks.check_positive_int("n_draws", n_draws)
        if getattr(self, "_runs", None) is None:
            raise checks.InputError(
                "extend needs the states of the chains; found none: they are not kept in copies of "
                "an estimator. Fit with checkpoint=PATH, and use SpikeSlabMRF.resume(PATH, n_draws)"
            )
        told, checkpoint = self.posterior_.settings, self._checkpoint
        goal = told["n_draws"] + n_draws
        with (
            checkpoint.at_work() if checkpoint else nullcontext(),
            open_client(cluster) as client,
        ):
            if checkpoint is not None:
                with _plain_refusals(checkpoint):
                    checkpoint.tell({"goal": goal, "finished": False})
                checkpoint.take_up(self._runs)
            with self._shown(self._runs[0].settings, goal) as reporter:
                outcome = draw_on(
                    self._runs, goal, self.n_jobs, reporter, checkpoint=checkpoint,
                    cluster=None if client is None else Cluster(client),
                )  # fmt: skip
            self._keep(outcome, self.posterior_.feature_names, told, checkpoint)
        return self

    def _keep(
        self,
        outcome: Outcome,
        names: list[str],
        told: dict[str, Any],
        checkpoint: Checkpoint | None,
    ) -> None:
        """Keep what a run came to."""
        if checkpoint is not None:
            end_run(checkpoint, outcome)
        self._runs, self._checkpoint = outcome.runs, checkpoint
        n_draws = len(outcome.results[0].record.bias)
        told = told | {"n_draws": n_draws, "stopped_by": outcome.stopped_by}
        self.posterior_ = posterior_of(outcome.results, names, told)
        self.inclusion_probability_ = self.posterior_.inclusion_probability
        chosen = self.inclusion_probability_ >= self.edge_threshold
        self.coupling_ = np.where(chosen, np.nan_to_num(self.posterior_.coupling_mean), 0.0)
        self.bias_ = self.posterior_.bias_mean

    def _shown(
        self, settings: Settings, n_draws: int, auto: bool = False, deadline: float = inf
    ) -> AbstractContextManager[Any]:
        if not self.progress:
            return nullcontext()
        return chain_progress(self.n_chains, settings.n_warmup, n_draws, auto, deadline)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the states of the chains, which are large."""
        state: Any = super().__getstate__()
        return {name: v for name, v in state.items() if name not in ("_runs", "_checkpoint")}


def versions() -> dict[str, str]:
    """Return what the draws may depend on, bit for bit."""
    others = {name: version(name) for name in ("numpy", "scipy", "numba")}
    return {"slabfield": slabfield.__version__, "python": python_version(), **others}


def posterior_of(results: list[ChainResult], names: list[str], told: dict[str, Any]) -> Posterior:
    """Put the results of chains together."""
    draws = Draws.from_chains([r.record for r in results], (r.chance for r in results))
    info = [{**r.info._asdict(), "cpu_seconds": r.cpu_seconds, **r.settled} for r in results]
    return Posterior(draws, names, told, info)


def begin_run(
    checkpoint: Checkpoint,
    estimator: Any,
    table: checks.CodedTable,
    told: dict[str, Any],
) -> tuple[int, int | None]:
    """Write down which run this is, or check that it is the one in the folder.

    Returns
    -------
    int, int or None
        The seed, and the number of draws to which the run was extended, if it was.
    """
    parameters = estimator.get_params(deep=False)
    there = checkpoint.told.get("identity", {}) if checkpoint.told else {}
    asked = parameters["random_state"]
    seed = there["seed"] if asked is None and "seed" in there else checks.seed_of(asked)
    identity = {
        **{name: told[name] for name in told if name != "versions"},
        "n_draws": parameters["n_draws"] or told["n_draws"],
        "max_draws": parameters["max_draws"], "seed": seed,
        "names": table.names, "slabfield": told["versions"]["slabfield"],
        "code": source_fingerprint(COMPILED),
    }  # fmt: skip
    arrays = {"rows": np.packbits(table.rows)}
    held = {
        "parameters": pack(parameters | {"random_state": seed}, arrays, {}, "parameters"),
        "shape": list(table.rows.shape),
        "coding": pack(list(table[2:]), arrays, {}, "coding"),
        "versions": told["versions"],
    }
    with _plain_refusals(checkpoint):
        checkpoint.begin(identity, held, arrays)
    return seed, (checkpoint.told or {}).get("goal")


@contextmanager
def _plain_refusals(checkpoint: Checkpoint) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise checks.InputError(cannot_write(checkpoint.folder, error)) from None


def read_run(checkpoint: Checkpoint) -> tuple[dict[str, Any], checks.CodedTable]:
    """Return the parameters of the estimator, and the table, that a run was begun with."""
    told, arrays = checkpoint.told, checkpoint.arrays
    if told is None:
        raise checks.InputError(
            f"checkpoint must be the folder of a run; {checkpoint.folder} holds no "
            f"{checkpoint.header.name}. Name the folder that fit was given."
        )
    with plain_failures(checkpoint.header, "Delete the folder and fit again"):
        parameters = unpack(told["parameters"], arrays, {}, ())
        names, shape = told["identity"]["names"], tuple(told["shape"])
        rows = np.unpackbits(arrays["rows"], count=shape[0] * shape[1]).reshape(shape)
        coding = unpack(told["coding"], arrays, {}, ())
        return parameters, checks.CodedTable(rows, names, *coding)


def end_run(checkpoint: Checkpoint, outcome: Outcome) -> None:
    """Write down that a run came to its end; or say, where Ctrl-C ended it, how to go on."""
    if outcome.stopped_by != "interrupt":
        checkpoint.finish()
        return
    if not outcome.results:
        raise KeyboardInterrupt("The run was stopped before the first draw.")
    n_draws, n_chains = len(outcome.results[0].record.bias), len(outcome.results)
    warnings.warn(
        f"Ctrl-C ended the run after {n_draws} draws of {n_chains} of its {len(outcome.runs)} "
        f"chains. The same call goes on, as does SpikeSlabMRF.resume({str(checkpoint.folder)!r}).",
        checks.InputWarning,
        stacklevel=4,
    )
