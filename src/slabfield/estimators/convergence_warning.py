"""The warning of a fit whose chains have not converged."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from slabfield.posterior import Posterior
from slabfield.posterior.diagnostics import MORE_DRAWS_HELP
from slabfield.validation import Message


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
        warnings.warn(
            str(unconverged_message(posterior)), ConvergenceWarning, stacklevel=stacklevel + 1
        )


def unconverged_message(posterior: Posterior) -> Message:
    """Return the problems of a posterior in one sentence."""
    problems = posterior.problems
    others = [problem for problem in problems if problem.code not in MORE_DRAWS_HELP]
    if others:
        n_more = len(problems) - 1
        rest = f" posterior_.warnings has {n_more} more." if n_more else ""
        return Message(others[0].code, "{problem}{rest}", {"problem": others[0], "rest": rest})
    parameters = posterior.convergence.unconverged_parameters
    return Message(
        "not-converged",
        "The chains have not converged after {n_draws} draws each: {worst}{parameters}; resume() "
        "continues until they have (posterior_.warnings has the details).",
        {
            "n_draws": posterior.draws.n_draws,
            "worst": posterior.convergence.worst,
            "parameters": f", {parameters} imprecise" if parameters else "",
        },
    )
