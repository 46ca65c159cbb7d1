"""The estimator with scikit-learn's interface: fit and resume a run of chains."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from functools import partial
from math import inf, prod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from slabfield import encoding, validation
from slabfield.chains.chain_run import ChainResult
from slabfield.chains.checkpoint import Checkpoint
from slabfield.chains.dask_client import open_client
from slabfield.chains.dask_cluster import Cluster
from slabfield.chains.memory import state_memory
from slabfield.chains.parallel import (
    Limits,
    Outcome,
    Unfit,
    common_length,
    draw_on,
    refuse_unfit,
    run_chains,
)
from slabfield.chains.row_sums import fingerprint, rows_and_sums
from slabfield.chains.run_clock import Deadline, Stopwatch
from slabfield.configuration import (
    EXACT_MAX_STATES,
    FULL_MAX_PARAMETERS,
    Settings,
    pseudo,
    settings_for,
)
from slabfield.draws import Draws
from slabfield.estimators import PosteriorModel, notify_compiling
from slabfield.estimators.convergence_warning import warn_unconverged
from slabfield.estimators.run_files import (
    begin_run,
    checkpoint_folder,
    end_run,
    read_run,
    record_goal,
    recorded_draws,
    recorded_file,
    recorded_goal,
    versions,
)
from slabfield.estimators.run_goal import FIRST_DRAWS, Goal, RunStatus, next_goal
from slabfield.models.interactions import Interactions
from slabfield.models.pairwise import log_linear, pairwise_model
from slabfield.models.protocol import Model
from slabfield.moves.imputation import new_missing_entries
from slabfield.posterior import Posterior
from slabfield.posterior.convergence import Convergence
from slabfield.priors import Prior, largest_slab_scale
from slabfield.problem import Problem, level_shares
from slabfield.progress import chain_progress, is_shown

if TYPE_CHECKING:
    from distributed import Client

# Attributes of a run that can be resumed, which copies do not keep
RUN_ATTRIBUTES = ("_runs", "_checkpoint", "_goal")
# Seconds that a fit may take without a display of its progress, unless it is asked for
SHORT_FIT = 2.0


class SpikeSlabMRF(PosteriorModel):
    """Structure and strength of a Markov random field, with their uncertainty.

    Fits a pairwise field to a table of two-valued, ordinal and nominal columns under a
    spike-and-slab prior (Chen & Welling 2012). For every pair of columns it returns the posterior
    probability that they depend on each other directly, and how strongly they do.

    Parameters
    ----------
    likelihood : {"auto", "exact", "particles", "pseudo"}
        How the likelihood is computed. "exact" sums over all joint states, up to about a million:
        20 two-valued columns, or 8 of five levels. "particles" estimates it by averages over Gibbs
        samples, at any size. "pseudo" takes half the log pseudo-likelihood of the rows in place of
        the log-likelihood: free of noise, but an approximation. "auto" takes "exact" where
        it can and "particles" elsewhere, or "pseudo" where warm-up shows that the particles do not
        mix (``posterior_.warnings`` then says so).
    preset : {"default", "paper"}
        "paper" is Algorithm 1 of the paper with its settings, or with ``likelihood="exact"`` its
        exact version. "default" is collapsed Gibbs sweeps over blocks of nodes, which need no
        tuning.
    n_chains : int
        Number of independent chains; convergence can be judged from at least four.
    n_warmup : int, optional
        Warm-up draws of each chain, which are discarded; None takes the preset's number.
    n_draws : int or "auto", optional
        Draws kept in each chain. With "auto", chains grow from 200 draws by a quarter at a time
        until they have converged, up to ``max_draws`` each. None takes the preset's number.
    max_draws : int
        Upper limit on the draws kept in each chain, with ``n_draws="auto"``.
    tolerance : float
        Largest Monte Carlo standard error that any inclusion probability may have in a converged
        run. Besides, R-hat must be at most 1.05, with at least 100 effective draws, for p0,
        sigma0, the density, the log potential, all biases and all undecided edges.
    time_budget : float, optional
        Seconds of warm-up and sampling after which chains stop with the draws made so far;
        compilation does not count. Warm-up may take at most half of them; where it is cut short,
        ``posterior_.warnings`` says so.
    inclusion_prior : pair, number, (D, D) array or dict
        (a, b): p0 ~ Beta(a, b) is learned. A number fixes p0. A matrix gives each edge its own
        probability: 0 forbids it, 1 forces it, NaN leaves it to p0 ~ Beta(5, 5). A dict from pairs
        of nodes to probabilities sets only the edges that it names.
    slab_prior : pair or number
        (c, d): sigma0^-2 ~ Gamma(shape c, rate d), with sigma0 bounded where the prior leaves a
        tail of 1e-6 (5.4 by default). A number fixes sigma0.
    bias_scale : float
        Prior standard deviation of biases.
    edge_threshold : float
        Smallest inclusion probability at which an edge enters ``field_``.
    binarize : number, "median" or dict, optional
        Turn numeric columns into 1 where the value is at least this; a dict names columns.
    random_state : int, RandomState, Generator or None
        Seed. The same seed, data and settings give the same draws, whatever ``n_jobs`` is.
    n_jobs : int, optional
        Number of chains run in parallel; None and -1 use all cores.
    progress : bool, optional
        Show the progress of the chains on standard error. None does so in a terminal or notebook,
        for fits of more than two seconds. The first fit after an installation compiles for up to a
        minute; a note on this, and on how long it took, goes to the same place and always to the
        logger ``slabfield`` at level INFO.
    sampler : dict, optional
        Settings of the sampler in place of the preset's, such as ``{"thin": 5}``: n_particles,
        n_sweeps, thin, restart, preconditioner, step_size, jump_scale, persistence,
        add_probability, delete_probability, pseudo_weight (see
        :class:`slabfield.configuration.Settings`).
    forbid, require : list of pairs, optional
        Edges that are never, or always, present. Here and below, nodes are given by name or by
        index from 0.
    communities : list of D labels or dict, optional
        The community of each node; with ``within``, ``between`` or both.
    within, between : float, optional
        Prior probability of edges between nodes of the same community, and of different
        communities. Settings of single edges (``forbid``, ``require``, then a matrix or dict as
        ``inclusion_prior``) take precedence.
    na : {"error", "drop", "impute"}
        How missing entries are treated: "error" refuses the table; "drop" drops the rows that
        have any; "impute" draws them along with the field, which is valid if entries are missing
        at random.
    na_values : value, list or dict, optional
        Values that stand for missing answers, such as 99, to which ``na`` applies; a dict names
        columns (the key None: all others). An empty list states that there are none.
    levels : dict, optional
        All answers of the columns it names, in their order, such as ``{"sleep": [1, 2, 3]}``; other
        values are refused. Of two, the second is 1; more make the column ordinal. Values that look
        like codes for missing answers are refused unless ``na_values`` or ``levels`` state what
        they are.
    kinds : str or dict, optional
        Kinds of the columns it names: "ordinal", "nominal", "blume-capel" or
        ("blume-capel", reference label), or "binary". One kind applies to all columns of three or
        more values. By default columns of two values are binary; of those with 3 to 12, whole
        numbers, ordered categoricals and columns in ``levels`` are ordinal, and text and other
        categoricals nominal.
    scores : {"standard", "raw", "range"} or dict
        Numbers by which couplings multiply the levels of ordinal and Blume-Capel columns. Of P
        places, from the lowest level to the highest, the one at place a, from 0, has the standard
        score a sqrt(3 / (P^2 - 1)), which makes couplings comparable, the raw score a, or the range
        score a / (P - 1). A dict gives the columns it names lists of increasing numbers, one per
        level (the key None: the rule for all others).
    max_memory : int or str, optional
        Memory limit of a run, in bytes or as "4GB"; None takes the available memory. A run that
        needs more is refused.

    Attributes
    ----------
    inclusion_probability_ : array of shape (D, D)
    field_ : BinaryField or LevelField
        Of the fields with the edges whose inclusion probability is at least ``edge_threshold``, the
        one nearest to the posterior (:meth:`slabfield.Posterior.nearest_field`), made when it is
        first asked for. Its edges make up for those that it lacks; means of couplings given
        presence, with intervals, are in ``posterior_``.
    coupling_ : array of shape (D, D)
        The couplings of ``field_``, on the scale of the scores (0 and 1 of two-valued columns); the
        norm of several parameters where a column is nominal.
    bias_ : array of shape (n_biases,)
        The biases of ``field_``: one for a two-valued column, the thresholds of all levels but the
        first for others; in the order of ``posterior_.bias_names``.
    posterior_ : Posterior
    coding_notes_ : list of str
        Kinds of columns, and which label became 1, where that is not obvious.
    variables_ : tuple of Variable
        For each column its name, kind, labels and scores, and its cut point or None.
    node_names_ : list of str
        The column names of the table, or x0, x1, ...
    n_rows_, n_features_in_ : int
    feature_names_in_ : array of str
        Only if the table had column names.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF, datasets
    >>> rows = datasets.make_block(100, random_state=1).rows
    >>> model = SpikeSlabMRF(n_draws=200, random_state=0).fit(rows)
    >>> model.inclusion_probability_.shape
    (12, 12)

    Prior knowledge about edges names nodes, or gives their index from 0:

    >>> known = SpikeSlabMRF(n_draws=100, random_state=0, forbid=[("x0", "x1")], require=[(0, 2)])
    >>> known.fit(rows).inclusion_probability_[0, :3]
    array([0., 0., 1.])

    Columns of 3 to 12 whole numbers are ordinal:

    >>> ratings = datasets.make_ordinal(100, n_nodes=4, mean_degree=2, random_state=0).table
    >>> rated = SpikeSlabMRF(n_draws=100, random_state=0).fit(ratings)
    >>> rated.variables_[0].kind, rated.bias_.shape
    ('ordinal', (16,))

    Predict held-out rows, and sample new ones:

    >>> new = datasets.make_block(50, random_state=2).rows
    >>> model.score(new) < 0, model.predict_proba(new, nodes=["x0"]).shape
    (True, (50, 1))
    >>> model.sample(5, random_state=0).shape
    (5, 12)
    """

    takes_levels = True
    _runs: Any = None
    _checkpoint: Checkpoint | None = None
    _goal: Goal
    # The table's file, if the command line read it; the report names it
    _file: str = ""

    def __init__(
        self,
        likelihood: str = "auto",
        preset: str = "default",
        n_chains: int = 4,
        n_warmup: int | None = None,
        n_draws: int | str | None = "auto",
        inclusion_prior: Any = (5, 5),
        slab_prior: Any = (5, 5),
        bias_scale: float = 10.0,
        edge_threshold: float = 0.5,
        binarize: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        sampler: Any = None,
        max_draws: int = 16_000,
        tolerance: float = 0.02,
        time_budget: float | None = None,
        forbid: Any = None,
        require: Any = None,
        communities: Any = None,
        within: float | None = None,
        between: float | None = None,
        na: str = "error",
        max_memory: int | str | None = None,
        na_values: Any = None,
        levels: Any = None,
        kinds: Any = None,
        scores: Any = "standard",
    ) -> None:
        self.likelihood = likelihood
        self.preset = preset
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.inclusion_prior = inclusion_prior
        self.slab_prior = slab_prior
        self.bias_scale = bias_scale
        self.edge_threshold = edge_threshold
        self.binarize = binarize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.sampler = sampler
        self.max_draws = max_draws
        self.tolerance = tolerance
        self.time_budget = time_budget
        self.forbid = forbid
        self.require = require
        self.communities = communities
        self.within = within
        self.between = between
        self.na = na
        self.max_memory = max_memory
        self.na_values = na_values
        self.levels = levels
        self.kinds = kinds
        self.scores = scores

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        cluster: Client | str | None = None,
    ) -> SpikeSlabMRF:
        """Draw from the posterior given the rows of X; y is ignored.

        Parameters
        ----------
        X : array or DataFrame of shape (N, D)
            Columns of two values or of levels; or the result of
            :func:`slabfield.encoding.read_counted`.
        y : ignored
        sample_weight : array of shape (N,), optional
            Number of rows that each row stands for.
        checkpoint : path, optional
            A folder to which the chains write their states, about every ten seconds. Where it
            already holds the states of this run (the same data, settings and seed), the chains
            continue from there, and the draws are those of an uninterrupted run. With a
            checkpoint, Ctrl-C stops the chains, and the draws made so far are the result;
            :meth:`resume` continues.
        cluster : distributed.Client or str, optional
            Where chains run: a client of Dask distributed, or the address of its scheduler,
            tcp://HOST:PORT. The draws are the same.

        Returns
        -------
        SpikeSlabMRF
            Itself, fitted. If the chains have not converged, there is a
            :class:`sklearn.exceptions.ConvergenceWarning`.
        """
        validation.validate_params(self)
        table = encoding.code_table(
            X, self.binarize, self.na, sample_weight, self.na_values, self.levels, self.kinds,
            self.scores,
        )  # fmt: skip
        folder = None if checkpoint is None else Checkpoint(checkpoint)
        with open_client(cluster) as client:
            self._fit_table(table, folder, client, self.time_budget)
        warn_unconverged(self.posterior_, stacklevel=2)
        return self

    @classmethod
    def from_checkpoint(cls, checkpoint: str | os.PathLike[str]) -> Self:
        """Return the estimator of a run from its checkpoint, to look at it or to :meth:`resume` it.

        Parameters
        ----------
        checkpoint : path
            The folder that was passed to ``fit``, or the output folder of ``slabfield fit``.

        Returns
        -------
        SpikeSlabMRF
            An estimator with the parameters of the run. It is fitted if the run has ended; a run
            that was killed or interrupted has to be resumed first.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from slabfield import SpikeSlabMRF, datasets
        >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
        >>> with TemporaryDirectory() as folder:
        ...     model = SpikeSlabMRF(n_draws=500, random_state=0).fit(rows, checkpoint=folder)
        ...     again = SpikeSlabMRF.from_checkpoint(folder)
        ...     again.posterior_.draws.n_draws, again.resume(n_draws=20).posterior_.draws.n_draws
        (500, 520)
        """
        folder = Checkpoint(checkpoint_folder(checkpoint))
        parameters, table = read_run(folder)
        estimator = cls(**parameters)
        validation.validate_params(estimator)
        estimator._checkpoint = folder
        estimator._file = recorded_file(folder)
        if folder.ended:
            estimator._fit_table(table, folder, None, load=True)
        return estimator

    def resume(
        self,
        n_draws: int | str | None = None,
        time_budget: float | None = None,
        cluster: Client | str | None = None,
    ) -> Self:
        """Continue the run of this estimator, as if it had not stopped.

        Parameters
        ----------
        n_draws : int or "auto", optional
            Further draws of each chain. "auto" goes on until the chains have converged, for at most
            ``max_draws`` further draws. By default a run that was killed, interrupted or out of
            time goes on to what it was to reach; a complete run is taken as "auto".
        time_budget : float, optional
            Seconds after which to stop again, from now; no limit by default.
        cluster : distributed.Client or str, optional
            Where chains run, as for ``fit``.

        Returns
        -------
        SpikeSlabMRF
            Itself, with the draws of before and the further ones. A complete run that has converged
            stays as it is, unless `n_draws` is a number.

        Examples
        --------
        >>> from slabfield import SpikeSlabMRF, datasets
        >>> rows = datasets.make_block(60, random_state=0, n_groups=1).rows
        >>> model = SpikeSlabMRF(random_state=0).fit(rows)
        >>> n_draws = model.posterior_.draws.n_draws
        >>> model.resume(n_draws=50).posterior_.draws.n_draws - n_draws
        50
        """
        validation.check_run_length(n_draws, time_budget)
        if self._runs is None and self._checkpoint is None:
            raise validation.InputError(
                "nothing-to-resume",
                "resume needs a run; found none: the estimator is not fitted, or is a copy, which "
                "does not keep the states of chains. Fit with {checkpoint}=PATH, and use "
                "SpikeSlabMRF.from_checkpoint(PATH).resume().",
                checkpoint=validation.Parameter("checkpoint"),
            )
        with open_client(cluster) as client:
            changed = (
                self._resume_from_checkpoint(n_draws, time_budget, client)
                if self._runs is None
                else self._resume_in_memory(n_draws, time_budget, client)
            )
        if changed:
            warn_unconverged(self.posterior_, stacklevel=2)
        return self

    def _resume_from_checkpoint(
        self, n_draws: int | str | None, time_budget: float | None, client: Client | None
    ) -> bool:
        """Continue a run that was killed or interrupted; return whether there are new draws."""
        assert self._checkpoint is not None
        checkpoint = Checkpoint(self._checkpoint.folder)
        _, table = read_run(checkpoint)
        run = RunStatus(
            recorded_goal(checkpoint), checkpoint.stopped_by, common_length(checkpoint.lengths)
        )
        goal = next_goal(run, n_draws, self.max_draws)
        budget = None if time_budget is None else checkpoint.elapsed + time_budget
        self._fit_table(table, checkpoint, client, budget, goal)
        return True

    def _resume_in_memory(
        self, n_draws: int | str | None, time_budget: float | None, client: Client | None
    ) -> bool:
        """Continue the chains of an ended run; return whether there are new draws."""
        posterior, checkpoint, runs = self.posterior_, self._checkpoint, self._runs
        run = RunStatus(
            self._goal, posterior.settings["stopped_by"], posterior.draws.n_draws,
            posterior.convergence.reached,
        )  # fmt: skip
        goal = next_goal(run, n_draws, self.max_draws)
        if goal is None:
            return False
        with checkpoint.at_work() if checkpoint else nullcontext():
            if checkpoint is not None:
                record_goal(checkpoint, goal)
                checkpoint.take_up(runs)
            self._runs = None  # should this fail, only the checkpoint can be trusted
            deadline = Deadline(inf if time_budget is None else time_budget)
            with self._progress_reporter(runs[0].settings, goal, deadline) as reporter:
                outcome = draw_on(
                    runs, goal.n_draws, self.n_jobs, reporter,
                    self._limits(goal, deadline, reporter, runs[0].problem.model.interactions),
                    checkpoint, None if client is None else Cluster(client),
                )  # fmt: skip
            self._store_outcome(outcome, posterior.encoder, posterior.settings, goal, checkpoint)
        return True

    def _fit_table(
        self,
        table: encoding.CodedTable,
        checkpoint: Checkpoint | None,
        client: Client | None,
        time_budget: float | None = None,
        goal: Goal | None = None,
        load: bool = False,
    ) -> None:
        """Run all chains on a table, from their start or from a checkpoint.

        Parameters
        ----------
        time_budget : float, optional
            Seconds that the run may take in all, with those before it was interrupted.
        goal : Goal, optional
            How many draws to make; by default the goal in the checkpoint, or that of a new run.
        load : bool
            Take an ended run from the checkpoint as it is.
        """
        cluster = None if client is None else Cluster(client)
        self._runs, self._checkpoint = None, checkpoint
        settings = self._settings(table)
        problem = self._problem(table, settings)
        run_settings: dict[str, Any] = {
            "preset": self.preset, "likelihood": self.likelihood, **asdict(settings),
            "n_chains": self.n_chains, "n_rows": table.n_rows,
            "tolerance": float(self.tolerance), "bias_scale": float(self.bias_scale),
            **problem.prior.facts(),
            "data_fingerprint": fingerprint(table), "versions": versions(),
            "fell_back": "", "total_weight": table.total_weight, "coding": list(table.notes),
            "weighted": table.weights is not None, "n_dropped": table.n_dropped,
            "n_missing": int(np.count_nonzero(table.missing)),
            "level_shares": [share.tolist() for share in shares_of(table)],
        }  # fmt: skip
        if self._file:
            run_settings["file"] = self._file
        planned = Goal(settings.n_draws, self.n_draws == "auto", self.max_draws)
        stopwatch = Stopwatch()
        with checkpoint.at_work() if checkpoint else nullcontext():
            if checkpoint is None:
                seed, goal = validation.seed_of(self.random_state), planned
            else:
                seed = begin_run(checkpoint, self, table, run_settings, planned)
                goal = goal or recorded_goal(checkpoint)
                if load:
                    goal = Goal(recorded_draws(checkpoint))
                else:
                    record_goal(checkpoint, goal)
                checkpoint.start_clock()
                stopwatch = checkpoint.stopwatch
            deadline = Deadline(inf if time_budget is None else time_budget, stopwatch)
            run = partial(
                self._run, seed=seed, goal=goal, deadline=deadline, checkpoint=checkpoint,
                cluster=cluster, show=not load,
            )  # fmt: skip
            try:
                outcome = run(problem, settings)
            except Unfit as reason:
                settings = self._overridden(pseudo())
                run_settings |= {**asdict(settings), "fell_back": str(reason)}
                outcome = run(self._problem(table, settings), settings)
            if load and checkpoint is not None:
                goal = recorded_goal(checkpoint)
                outcome = outcome._replace(stopped_by=checkpoint.stopped_by)
            self._store_outcome(
                outcome, table.encoder, run_settings | {"seed": seed}, goal, checkpoint
            )
            encoding.keep_names(self, table)

    def _run(
        self,
        problem: Problem,
        settings: Settings,
        seed: int,
        goal: Goal,
        deadline: Deadline,
        checkpoint: Checkpoint | None,
        cluster: Cluster | None,
        show: bool,
    ) -> Outcome:
        """Run all chains until they have enough draws, or until the deadline."""
        may_fall_back = self.likelihood == "auto" and self.preset == "default"
        examine = refuse_unfit if may_fall_back else None
        settings = replace(settings, n_draws=goal.n_draws)
        with (
            self._progress_reporter(settings, goal, deadline, show) as reporter,
            notify_compiling(verbose=show and is_shown(self.progress)),
        ):
            return run_chains(
                problem, settings, self.n_chains, seed, self.n_jobs, reporter,
                self._limits(goal, deadline, reporter, problem.model.interactions), examine,
                checkpoint, cluster,
            )  # fmt: skip

    def _limits(
        self, goal: Goal, deadline: Deadline, reporter: Any, interactions: Interactions
    ) -> Limits:
        """Return when chains stop; the reporter receives each convergence check."""

        def converged(results: list[ChainResult]) -> bool:
            convergence = Convergence(_draws_of(results, interactions), float(self.tolerance))
            if reporter is not None:
                reporter.checked(convergence)
            return convergence.reached

        return Limits(goal.max_draws, converged if goal.until_converged else None, deadline)

    def _progress_reporter(
        self, settings: Settings, goal: Goal, deadline: Deadline, show: bool = True
    ) -> AbstractContextManager[Any]:
        if not show or not is_shown(self.progress):
            return nullcontext()
        target = None if goal.until_converged else goal.n_draws
        delay = SHORT_FIT if self.progress is None else 0.0
        return chain_progress(self.n_chains, settings.n_warmup, target, deadline, delay)

    def _store_outcome(
        self,
        outcome: Outcome,
        encoder: encoding.Encoder,
        run_settings: dict[str, Any],
        goal: Goal,
        checkpoint: Checkpoint | None,
    ) -> None:
        """Set the fitted attributes from the outcome of a run."""
        if checkpoint is not None:
            end_run(checkpoint, outcome)
        # the chains of an interrupted run may be of different lengths, or in warm-up
        self._runs = None if outcome.stopped_by == "interrupt" else outcome.runs
        self._goal, self._checkpoint = goal, checkpoint
        n_draws = len(outcome.results[0].record.bias)
        run_settings = run_settings | {"n_draws": n_draws, "stopped_by": outcome.stopped_by}
        self.posterior_ = _posterior_of(outcome.results, encoder, run_settings)
        self.inclusion_probability_ = self.posterior_.inclusion_probability
        self._forget_field()

    def _settings(self, table: encoding.CodedTable) -> Settings:
        """Return the preset's settings for this size, overridden by the user's parameters."""
        n_states = prod(variable.n_levels for variable in table.variables)
        base = settings_for(self.likelihood, self.preset, table.total_weight, n_states)
        if base.engine == "exact":
            validation.check_exact_size(len(table.variables), n_states, EXACT_MAX_STATES)
        settings = self._overridden(base)
        if settings.preconditioner == "full":
            model = self._model(table)
            size = model.n_biases + model.interactions.n_parameters
            validation.check_full_size(size, FULL_MAX_PARAMETERS)
        return settings

    def _model(self, table: encoding.CodedTable) -> Model:
        """Return the model of a table's variables, in the form that the preset's moves need."""
        model = pairwise_model(table.variables)
        if self.preset == "default":
            return model
        validation.check_free_biases(table.variables)
        return log_linear(model)

    def _overridden(self, base: Settings) -> Settings:
        """Return settings overridden by the user's parameters."""
        given = validation.check_sampler(self.sampler)
        given |= {"n_draws": self.n_draws, "n_warmup": self.n_warmup}
        given = {name: value for name, value in given.items() if value is not None}
        if self.n_draws == "auto":
            given["n_draws"] = min(FIRST_DRAWS, self.max_draws)
        # 1 in place of 1.0 would be another type, for which numba would compile all code again
        return replace(base, **{k: type(getattr(base, k))(given[k]) for k in given})

    def _problem(self, table: encoding.CodedTable, settings: Settings) -> Problem:
        model = self._model(table)
        inclusion = validation.check_edge_prior(
            self.inclusion_prior, table.names, model.interactions, forbid=self.forbid,
            require=self.require, communities=self.communities, within=self.within,
            between=self.between,
        )  # fmt: skip
        slab = validation.check_slab_prior(self.slab_prior)
        prior = Prior(
            inclusion.a, inclusion.b, slab.c, slab.d, slab.fixed,
            largest_slab_scale(slab.c, slab.d), float(self.bias_scale) ** -2, inclusion.fixed,
        )  # fmt: skip
        state_memory(
            table, settings, self.n_chains, self.max_memory, verbose=is_shown(self.progress)
        )
        rows, times, sums = rows_and_sums(model, table, settings)
        missing_entries = new_missing_entries(
            pairwise_model(table.variables), rows, table.missing[: len(rows)]
        )
        return Problem(model, rows, sums, prior, missing_entries, times)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the states of the chains, which are large."""
        state: Any = super().__getstate__()
        return {name: v for name, v in state.items() if name not in RUN_ATTRIBUTES}


def shares_of(table: encoding.CodedTable) -> list[NDArray[np.float64]]:
    """Share of each level of every column in the rows in which it is observed."""
    times = table.counts if table.counts is not None else table.weights
    n_levels = (variable.n_levels for variable in table.variables)
    return level_shares(table.rows, table.missing, n_levels, times)


def _draws_of(results: list[ChainResult], interactions: Interactions) -> Draws:
    """Combine the draws of all chains."""
    return Draws.from_chains(
        [r.record for r in results],
        (r.conditional_probability for r in results),
        [r.evidence_means for r in results],
        interactions,
    )


def _posterior_of(
    results: list[ChainResult], encoder: encoding.Encoder, run_settings: dict[str, Any]
) -> Posterior:
    """Combine the results of all chains."""
    info = [{**r.info._asdict(), "cpu_seconds": r.cpu_seconds, **r.adaptation} for r in results]
    names = [variable.name for variable in encoder.variables]
    interactions = pairwise_model(encoder.variables).interactions
    return Posterior(_draws_of(results, interactions), names, run_settings, info, encoder)
