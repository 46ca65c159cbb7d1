"""The scikit-learn face of the sampler."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import asdict, replace
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

from slabfield import checks
from slabfield.face import PosteriorModel, tell_of_compiling
from slabfield.models.binary import BinaryPairwise
from slabfield.moves.impute import new_unknown
from slabfield.posterior.convergence import unsettled
from slabfield.priors import Prior
from slabfield.recovery import Recovery, begin_run, posterior_of, versions
from slabfield.sampler.checkpoint import Checkpoint
from slabfield.sampler.cluster import Cluster
from slabfield.sampler.connect import open_client
from slabfield.sampler.data import fingerprint, rows_and_sums
from slabfield.sampler.memory import state_memory
from slabfield.sampler.parallel import Limits, Outcome, Unfit, refuse_unfit, run_chains
from slabfield.sampler.run import ChainResult
from slabfield.sampler.settings import (
    EXACT_MAX_NODES,
    FULL_MAX_PARAMETERS,
    Settings,
    bayes_exact,
    default_particles,
    gold_standard,
    paper,
    pseudo,
)
from slabfield.sampler.warmup import Problem

if TYPE_CHECKING:
    from distributed import Client

# Draws of each chain with n_draws="auto", to begin with
FIRST_DRAWS = 200


class SpikeSlabMRF(Recovery, PosteriorModel):
    """Structure and strength of a binary Markov random field, with their uncertainty.

    Fits a pairwise field to a table of two-valued columns under a spike-and-slab prior (Chen &
    Welling 2012), and returns for every pair of columns the posterior probability that they depend
    on each other directly, and how strongly.

    Parameters
    ----------
    likelihood : {"auto", "exact", "particles", "pseudo"}
        Where likelihoods come from. "exact" sums over all states and takes up to 20 nodes;
        "particles" averages over Gibbs samples, at any size; "pseudo" is half the
        pseudo-likelihood of the rows, fast and without noise but not quite the likelihood; "auto"
        is exact where it can be, and else particles, or pseudo where warm-up shows that the
        particles do not mix (``posterior_.warnings`` says so).
    preset : {"default", "paper"}
        "paper" is Algorithm 1 of the paper with its settings, or with ``likelihood="exact"`` its
        exact version. "default" is collapsed sweeps over blocks of nodes, which need no tuning.
    n_chains : int
        Independent chains; at least two are needed to judge convergence.
    n_warmup, n_draws : int, optional
        Draws thrown away and kept in each chain; None takes what the preset says. With
        ``n_draws="auto"`` chains go on, from 200 draws to a quarter more and so on, until they
        have converged, up to ``max_draws`` each.
    max_draws : int
        Draws kept in each chain at most, with ``n_draws="auto"``.
    time_budget : float, optional
        Seconds after which chains stop, whatever there is by then. Warm-up may take half of them;
        where it is cut short, ``posterior_.warnings`` says so.
    inclusion_prior : pair, number, (D, D) array or dict
        (a, b): p0 ~ Beta(a, b) is learnt. A number fixes p0. A matrix gives each edge its own
        probability: 0 forbids it, 1 forces it, NaN leaves it to p0 ~ Beta(5, 5). A dict from pairs
        of nodes to probabilities says the same of the edges it names.
    slab_prior : pair or number
        (c, d): sigma0^-2 ~ Gamma(shape c, rate d). A number fixes sigma0.
    bias_scale : float
        Prior standard deviation of biases.
    edge_threshold : float
        Inclusion probability from which an edge enters ``coupling_``.
    binarize : number, "median" or dict, optional
        Turn numeric columns into 1 where the value is at least this; a dict names columns.
    random_state : int, RandomState, Generator or None
        Seed. The same seed, data and settings give the same draws, whatever ``n_jobs`` is.
    n_jobs : int, optional
        Chains run at a time; None and -1 take as many as there are cores.
    progress : bool
        Show on standard error how far the chains are. The first fit after an installation compiles
        for up to a minute; that it does, and how long it took, is told there too, and always to the
        logger ``slabfield`` at level INFO.
    n_particles, n_sweeps, step_size, persistence, jump_scale, preconditioner, restart, thin, \
add_probability, delete_probability, pseudo_weight : optional
        Settings of the sampler, each None for what the preset says (see
        :class:`slabfield.sampler.settings.Settings`).
    forbid, require : list of pairs, optional
        Edges that are never, or always, there. Here and below nodes are given by name, or counted
        from 0.
    groups : list of D labels or dict, optional
        The group of each node; with ``within``, ``between`` or both.
    within, between : float, optional
        Prior probability of edges between nodes of the same group, and of different groups. What is
        said of a single edge (``forbid``, ``require``, then a matrix or dict as
        ``inclusion_prior``) comes before it.
    na : {"error", "drop", "impute"}
        What is done about missing entries: nothing is fitted; rows that have any are dropped; or
        they are unknowns, drawn along with the field, which is right if being missing does not
        depend on what is missing.
    max_memory : int or str, optional
        Bytes that a run may take, or "4GB"; None: what is available. Others are refused.

    Attributes
    ----------
    inclusion_probability_ : array of shape (D, D)
    coupling_ : array of shape (D, D)
        Posterior mean given presence of the edges above ``edge_threshold``, else 0 (the paper's
        "Bayes PM"), on the 0/1 scale.
    bias_ : array of shape (D,)
    posterior_ : Posterior
    coding_notes_ : list of str
        Which label of each column became 1, where that is not plain.
    coding_ : list of pairs
        For each column its two labels, and the number it was cut at or None.
    node_names_ : list of str
        Those of the table, or x0, x1, ...
    n_rows_, n_features_in_ : int
    feature_names_in_ : array of str
        Only where the table had column names.

    Examples
    --------
    >>> from slabfield import SpikeSlabMRF, datasets
    >>> rows = datasets.make_block(100, random_state=1).rows
    >>> model = SpikeSlabMRF(n_draws=200, random_state=0).fit(rows)
    >>> model.inclusion_probability_.shape
    (12, 12)

    Nodes are named, or counted from 0, in what is known before the data:

    >>> known = SpikeSlabMRF(n_draws=100, random_state=0, forbid=[("x0", "x1")], require=[(0, 2)])
    >>> known.fit(rows).inclusion_probability_[0, :3]
    array([0., 0., 1.])

    Rows that were not fitted are foretold, and new ones drawn:

    >>> new = datasets.make_block(50, random_state=2).rows
    >>> model.score(new) < 0, model.predict_proba(new, nodes=["x0"]).shape
    (True, (50, 1))
    >>> model.sample(5, random_state=0).shape
    (5, 12)
    """

    def __init__(
        self,
        likelihood: str = "auto",
        preset: str = "default",
        n_chains: int = 4,
        n_warmup: int | None = None,
        n_draws: int | str | None = None,
        inclusion_prior: Any = (5, 5),
        slab_prior: Any = (5, 5),
        bias_scale: float = 10.0,
        edge_threshold: float = 0.5,
        binarize: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool = False,
        n_particles: int | None = None,
        n_sweeps: int | None = None,
        step_size: float | None = None,
        persistence: float | None = None,
        jump_scale: float | None = None,
        preconditioner: str | None = None,
        restart: bool | None = None,
        thin: int | None = None,
        add_probability: float | None = None,
        delete_probability: float | None = None,
        pseudo_weight: float | None = None,
        max_draws: int = 16_000,
        time_budget: float | None = None,
        forbid: Any = None,
        require: Any = None,
        groups: Any = None,
        within: float | None = None,
        between: float | None = None,
        na: str = "error",
        max_memory: int | str | None = None,
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
        self.n_particles = n_particles
        self.n_sweeps = n_sweeps
        self.step_size = step_size
        self.persistence = persistence
        self.jump_scale = jump_scale
        self.preconditioner = preconditioner
        self.restart = restart
        self.thin = thin
        self.add_probability = add_probability
        self.delete_probability = delete_probability
        self.pseudo_weight = pseudo_weight
        self.max_draws = max_draws
        self.time_budget = time_budget
        self.forbid = forbid
        self.require = require
        self.groups = groups
        self.within = within
        self.between = between
        self.na = na
        self.max_memory = max_memory

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
            Two-valued columns; or what :func:`slabfield.checks.read_counted` read of a file.
        y : ignored
        sample_weight : array of shape (N,), optional
            As how many rows each counts.
        checkpoint : path, optional
            A folder that the chains write their states to, about every ten seconds. Where it
            holds the states of this run already (the same data, settings and seed), the chains go
            on from there, and the draws are those of a run that was never interrupted. Ctrl-C then
            stops the chains, and returns what there is.
        cluster : distributed.Client or str, optional
            Where chains run: a client of Dask distributed, or the address of its scheduler,
            tcp://HOST:PORT. The draws are the same.

        Returns
        -------
        SpikeSlabMRF
            Itself, fitted.
        """
        checks.check_told(self)
        table = checks.code_binary(X, self.binarize, self.na, sample_weight)
        held = None if checkpoint is None else Checkpoint(checkpoint)
        with open_client(cluster) as client:
            return self._fit_table(table, held, client)

    def _fit_table(
        self, table: checks.CodedTable, checkpoint: Checkpoint | None, client: Client | None
    ) -> SpikeSlabMRF:
        started, cluster = monotonic(), None if client is None else Cluster(client)
        settings = self._settings(table.total_weight, table.rows.shape[1])
        problem = self._problem(table, settings)
        told: dict[str, Any] = {
            "preset": self.preset, "likelihood": self.likelihood, **asdict(settings),
            "n_chains": self.n_chains, "n_rows": table.n_rows,
            "bias_scale": float(self.bias_scale), **problem.prior.facts(),
            "data_fingerprint": fingerprint(table), "versions": versions(),
            "fell_back": "", "total_weight": table.total_weight, "coding": list(table.notes),
        }  # fmt: skip
        with checkpoint.at_work() if checkpoint else nullcontext():
            if checkpoint is None:
                seed, goal = checks.seed_of(self.random_state), None
            else:
                seed, goal = begin_run(checkpoint, self, table, told)
                started = checkpoint.begun
            deadline = inf if self.time_budget is None else started + self.time_budget
            try:
                outcome = self._run(problem, settings, seed, deadline, goal, checkpoint, cluster)
            except Unfit as reason:
                settings = self._with_own(pseudo())
                told |= {**asdict(settings), "fell_back": str(reason)}
                problem = self._problem(table, settings)
                outcome = self._run(problem, settings, seed, deadline, goal, checkpoint, cluster)
            checks.keep_names(self, table)
            self._keep(outcome, list(table.names), told | {"seed": seed}, checkpoint)
        return self

    def _run(
        self,
        problem: Problem,
        settings: Settings,
        seed: int,
        deadline: float,
        goal: int | None,
        checkpoint: Checkpoint | None,
        cluster: Cluster | None,
    ) -> Outcome:
        """Run all chains, as long as they are to run."""
        names = [str(i) for i in range(problem.model.n_nodes)]

        def enough(results: list[ChainResult]) -> bool:
            return not unsettled(posterior_of(results, names, {}))

        auto = self.n_draws == "auto" and goal is None
        limits = Limits(self.max_draws, enough if auto else None, deadline)
        free = self.likelihood == "auto" and self.preset == "default"
        examine = refuse_unfit if free else None
        if goal is not None:
            settings = replace(settings, n_draws=goal)
        with (
            self._shown(settings, settings.n_draws, auto, deadline) as reporter,
            tell_of_compiling(aloud=self.progress),
        ):
            return run_chains(
                problem, settings, self.n_chains, seed, self.n_jobs, reporter, limits, examine,
                checkpoint, cluster,
            )  # fmt: skip

    def _settings(self, n_rows: float, n_nodes: int) -> Settings:
        """Return what the preset says for this size, with what the user set in its place."""
        exact = self.likelihood == "exact" or (
            self.likelihood == "auto" and self.preset == "default" and n_nodes <= EXACT_MAX_NODES
        )
        if exact:
            checks.check_exact_size(n_nodes, EXACT_MAX_NODES)
        if self.likelihood == "pseudo":
            base = pseudo()
        elif exact:
            base = bayes_exact(n_rows) if self.preset == "paper" else gold_standard()
        else:
            base = paper() if self.preset == "paper" else default_particles()
        settings = self._with_own(base)
        if settings.preconditioner == "full":
            size = n_nodes * (n_nodes + 1) // 2
            checks.check_full_size(size, FULL_MAX_PARAMETERS)
        return settings

    def _with_own(self, base: Settings) -> Settings:
        """Return settings with what the user set in place of what they say."""
        names = asdict(base).keys() & self.get_params(deep=False).keys()
        own = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.n_draws == "auto":
            own["n_draws"] = min(FIRST_DRAWS, self.max_draws)
        # 1 for 1.0 would be another type, and have everything compiled anew
        return replace(base, **{k: type(getattr(base, k))(own[k]) for k in own})

    def _problem(self, table: checks.CodedTable, settings: Settings) -> Problem:
        n_nodes = table.rows.shape[1]
        inclusion = checks.check_edge_prior(
            self.inclusion_prior, table.names, forbid=self.forbid, require=self.require,
            groups=self.groups, within=self.within, between=self.between,
        )  # fmt: skip
        slab = checks.check_slab_prior(self.slab_prior)
        prior = Prior(
            inclusion.a, inclusion.b, slab.c, slab.d, slab.fixed,
            float(self.bias_scale) ** -2, inclusion.fixed,
        )  # fmt: skip
        state_memory(table, settings, self.n_chains, self.max_memory, aloud=self.progress)
        model = BinaryPairwise(n_nodes)
        rows, times, sums = rows_and_sums(model, table, settings.engine, settings.restart)
        unknown = new_unknown(model, rows, table.missing[: len(rows)])
        return Problem(model, rows, sums, prior, unknown, times)
