"""The warning of a fit whose chains have not converged."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from slabfield.posterior import Posterior
from slabfield.posterior.diagnostics import MORE_DRAWS_HELP


def warn_unconverged(posterior: Posterior, stacklevel: int = 1) -> None:
    """Warn once if a posterior is not to be trusted yet: what is wrong, and what to do.

    An interrupted run has a warning of its own.

    Parameters
    ----------
    stacklevel : int
        Frames between the caller and the code that the warning is about, as in
        :func:`warnings.warn`.
    """
    if posterior.settings.get("stopped_by") != "interrupt" and posterior.problems:
        warnings.warn(unconverged_text(posterior), ConvergenceWarning, stacklevel=stacklevel + 1)


def unconverged_text(posterior: Posterior) -> str:
    """Return what is wrong with a posterior, and what to do, in a sentence."""
    problems = posterior.problems
    others = [problem for problem in problems if problem.code not in MORE_DRAWS_HELP]
    if others:
        n_more = len(problems) - 1
        return str(others[0]) + (f" posterior_.warnings has {n_more} more." if n_more else "")
    parameters = posterior.convergence.unconverged_parameters
    imprecise = f", {parameters} imprecise" if parameters else ""
    return (
        f"The chains have not converged after {posterior.draws.n_draws} draws each: "
        f"{posterior.convergence.worst}{imprecise}; resume() continues until they have "
        "(posterior_.warnings has the details)."
    )
