"""How many draws a run is to make, and how many a resumed run goes on to."""

from __future__ import annotations

from typing import NamedTuple

# Draws of each chain before the first convergence check, with ``n_draws="auto"``
FIRST_DRAWS = 200


class Goal(NamedTuple):
    """How many draws each chain of a run is to make.

    Attributes
    ----------
    n_draws : int
        The number of draws; with ``until_converged``, that of the first convergence check.
    until_converged : bool
        Whether chains grow from there until they have converged.
    max_draws : int
        With ``until_converged``, the largest number of draws.
    """

    n_draws: int
    until_converged: bool = False
    max_draws: int = 0


class RunStatus(NamedTuple):
    """How far a run has come.

    Attributes
    ----------
    goal : Goal
        What the run was to reach.
    stopped_by : str
        "draws" or "converged" if it is complete; otherwise "time", "interrupt", or empty if it was
        killed.
    n_draws : int
        Draws of each chain.
    converged : bool
        Whether these meet the criteria of convergence; of no account unless the run has ended.
    """

    goal: Goal
    stopped_by: str
    n_draws: int
    converged: bool = False

    @property
    def complete(self) -> bool:
        """Whether the run made all draws that it was to make."""
        return self.stopped_by in ("draws", "converged")


def next_goal(run: RunStatus, n_draws: int | str | None, max_draws: int) -> Goal | None:
    """Return what a resumed run is to reach; None if no draws are to be added.

    Parameters
    ----------
    run : RunStatus
        How far the run has come.
    n_draws : int, "auto" or None
        Further draws of each chain; "auto": until they have converged; None: what is left of the
        run, or "auto" if it is complete.
    max_draws : int
        Upper limit on the further draws, with "auto".

    Examples
    --------
    >>> from slabfield.estimators.run_goal import Goal, RunStatus, next_goal
    >>> killed = RunStatus(Goal(1000), "", n_draws=570)
    >>> next_goal(killed, None, 16_000)
    Goal(n_draws=1000, until_converged=False, max_draws=0)
    >>> next_goal(killed, 50, 16_000)
    Goal(n_draws=620, until_converged=False, max_draws=0)
    >>> complete = RunStatus(Goal(1000), "draws", n_draws=1000)
    >>> next_goal(complete, None, 16_000)
    Goal(n_draws=1000, until_converged=True, max_draws=17000)
    >>> next_goal(complete._replace(converged=True), None, 16_000) is None
    True
    """
    if n_draws is not None and not isinstance(n_draws, str):
        return Goal(run.n_draws + n_draws)
    if not run.complete and (n_draws is None or run.goal.until_converged):
        return run.goal
    if run.complete and run.converged:
        return None
    most = run.n_draws + max_draws
    return Goal(min(max(run.n_draws, FIRST_DRAWS), most), True, most)
