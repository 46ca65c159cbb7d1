"""How far a resumed run goes."""

import pytest

from slabfield.estimators.run_goal import FIRST_DRAWS, Goal, RunStatus, next_goal

FIXED, AUTO = Goal(1000), Goal(FIRST_DRAWS, True, 16_000)
MOST = 16_000


def until_converged(n_draws: int, made: int) -> Goal:
    return Goal(n_draws, True, made + MOST)


@pytest.mark.parametrize(
    ("run", "asked", "expected"),
    [
        # killed, interrupted, out of time: what is left of the run
        (RunStatus(FIXED, "", 570), None, FIXED),
        (RunStatus(FIXED, "interrupt", 570), None, FIXED),
        (RunStatus(FIXED, "time", 570), None, FIXED),
        (RunStatus(AUTO, "", 570), None, AUTO),
        (RunStatus(AUTO, "time", 570), None, AUTO),
        (RunStatus(AUTO, "time", 570), "auto", AUTO),
        # even if these draws happen to be enough: the uninterrupted run would go on to its check
        (RunStatus(AUTO, "time", 570, True), None, AUTO),
        # complete
        (RunStatus(FIXED, "draws", 1000), None, until_converged(1000, 1000)),
        (RunStatus(AUTO, "draws", 16_000), None, until_converged(16_000, 16_000)),
        (RunStatus(FIXED, "draws", 1000, True), None, None),
        (RunStatus(AUTO, "converged", 608, True), None, None),
        (RunStatus(AUTO, "converged", 608, True), "auto", None),
        # a number of draws is added in any case
        (RunStatus(FIXED, "", 570), 50, Goal(620)),
        (RunStatus(AUTO, "time", 570), 50, Goal(620)),
        (RunStatus(AUTO, "converged", 608, True), 50, Goal(658)),
        # until converged, in place of a fixed number
        (RunStatus(FIXED, "", 570), "auto", until_converged(570, 570)),
        (RunStatus(FIXED, "", 20), "auto", until_converged(FIRST_DRAWS, 20)),
    ],
)
def test_the_goal_of_a_resumed_run(
    run: RunStatus, asked: int | str | None, expected: Goal | None
) -> None:
    assert next_goal(run, asked, MOST) == expected
