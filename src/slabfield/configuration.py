"""Settings of a run, the presets, and the limits of what counts as trustworthy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

# Joint states up to which the exact likelihood is summed: 20 binary nodes, 8 of five levels
EXACT_MAX_STATES = 1 << 20
# Parameters up to which the preconditioner can be a full matrix
FULL_MAX_PARAMETERS = 2_000
# Largest trustworthy noise variance of undecided log odds
NOISE_LIMIT = 1.5
# Largest trustworthy two-start discrepancy of the particles, in sampling variances
DISCREPANCY_LIMIT = 4.0
# Largest trustworthy moment misfit, in sampling variances
MISFIT_LIMIT = 4.0


@dataclass(frozen=True)
class Settings:
    """Settings of a run.

    Defaults of the fields are those of the paper; the sampler that users get by default is
    :func:`default_exact` or :func:`default_particles`.

    Attributes
    ----------
    engine : {"particles", "exact", "pseudo"}
        Likelihood that the sampler evaluates.
    scheme : {"approximate", "adjusted", "collapsed"}
        Algorithm 1; its exact version ("Bayes Exact"); or collapsed Gibbs.
    pseudo_weight : float
        Exponent of the pseudo-likelihood, if that is the engine.
    n_particles, n_sweeps : int
        Gibbs particles, and sweeps of them per iteration; 0 lets warm-up tune them.
    restart : bool
        Restart the particles from rows of the data in every iteration ("brief Langevin").
    step_size, persistence : float
        Langevin step size, and the share of momentum kept per step.
    preconditioner : {"diagonal", "full"}
    jump_scale : float
        Window of a jump, in units of 1 / sqrt(N Var f).
    add_probability, delete_probability : float
        Probabilities of proposing a birth and a death.
    n_draws, thin, n_warmup : int
        Draws kept, iterations between them, and warm-up in units of ``thin`` iterations.
    """

    engine: str = "particles"
    scheme: str = "approximate"
    pseudo_weight: float = 0.5
    n_particles: int = 100
    n_sweeps: int = 1
    restart: bool = False
    step_size: float = 1e-3
    persistence: float = 0.9
    preconditioner: str = "diagonal"
    jump_scale: float = 0.01
    add_probability: float = 1.0
    delete_probability: float = 1.0
    n_draws: int = 10_000
    thin: int = 1_000
    n_warmup: int = 1_000

    @property
    def needs_rows(self) -> bool:
        """Whether the likelihood is computed from all rows, not from their sums."""
        return self.engine == "pseudo"


def paper() -> Settings:
    """Algorithm 1 with the paper's settings."""
    return Settings()


def bayes_exact(n_rows: float) -> Settings:
    """The paper's moves with the exact likelihood: larger steps, windows and persistence.

    A step of size eps moves a parameter by about eps; its posterior standard deviation falls as
    1 / sqrt(N), and the step with it. Births adjust biases (equation 17), so that windows can be
    wide enough for every coupling.
    """
    return Settings(
        engine="exact",
        scheme="adjusted",
        step_size=0.45 / sqrt(n_rows),
        persistence=0.95,
        jump_scale=25.0,
        n_draws=10_000,
        thin=10,
        n_warmup=500,
    )


def default_exact() -> Settings:
    """Collapsed Gibbs sweeps with the exact likelihood."""
    return Settings(engine="exact", scheme="collapsed", n_draws=1_000, thin=1, n_warmup=200)


def default_particles() -> Settings:
    """Collapsed Gibbs sweeps with particles, whose numbers warm-up tunes (0 in the settings)."""
    return Settings(
        engine="particles", scheme="collapsed", n_particles=0, n_sweeps=0, n_draws=1_000, thin=1,
        n_warmup=150,
    )  # fmt: skip


def pseudo(weight: float = 0.5) -> Settings:
    """Collapsed Gibbs sweeps with the weighted pseudo-likelihood."""
    return Settings(
        engine="pseudo", scheme="collapsed", pseudo_weight=weight, n_draws=1_000, thin=1,
        n_warmup=200,
    )  # fmt: skip


def settings_for(likelihood: str, preset: str, n_rows: float, n_states: int) -> Settings:
    """Return the settings of a preset; likelihood "auto" is exact up to ``EXACT_MAX_STATES``.

    The paper's algorithm uses particles unless the exact likelihood is asked for.
    """
    if likelihood == "auto":
        small = preset == "default" and n_states <= EXACT_MAX_STATES
        likelihood = "exact" if small else "particles"
    presets: dict[tuple[str, str], Callable[[], Settings]] = {
        ("default", "exact"): default_exact,
        ("default", "particles"): default_particles,
        ("default", "pseudo"): pseudo,
        ("paper", "exact"): lambda: bayes_exact(n_rows),
        ("paper", "particles"): paper,
    }
    return presets[preset, likelihood]()
