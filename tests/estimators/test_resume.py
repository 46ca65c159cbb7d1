"""Fitted estimators and checkpoints are continued by one method, with the draws of a longer run."""

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from slabfield import SpikeSlabMRF, datasets
from slabfield.chains import chain_run, collapsed_warmup
from slabfield.chains.checkpoint import Checkpoint, Stop
from slabfield.estimators import spike_slab
from slabfield.estimators.run_files import InterruptedInWarmUp
from slabfield.posterior.convergence import Convergence
from slabfield.validation import InputError, InputWarning

QUICK: dict[str, Any] = {"n_warmup": 20, "random_state": 5}


def rows() -> NDArray[np.uint8]:
    return np.asarray(datasets.make_block(60, random_state=0, n_groups=1).rows)


def hard_rows() -> NDArray[np.uint8]:
    """More undecided edges: 200 draws are not enough."""
    return np.asarray(datasets.make_block(100, random_state=2).rows)


def assert_begins_with(longer: SpikeSlabMRF, shorter: SpikeSlabMRF) -> None:
    n_draws = shorter.posterior_.draws.n_draws
    for name in ("bias", "p0", "sigma0", "potential"):
        first = getattr(longer.posterior_.draws, name)[:, :n_draws]
        assert np.array_equal(first, getattr(shorter.posterior_.draws, name))


@pytest.fixture(params=["in memory", "from a checkpoint"])
def after_fit(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Fit, and return the estimator, or another one from the checkpoint of its run."""

    def fit(data: NDArray[np.uint8], **parameters: Any) -> SpikeSlabMRF:
        model = SpikeSlabMRF(**QUICK | parameters)
        if request.param == "in memory":
            return model.fit(data)
        model.fit(data, checkpoint=tmp_path / "run")
        return SpikeSlabMRF.from_checkpoint(tmp_path / "run")

    return fit


# --- which draws are added --------------------------------------------------------------------


def test_a_number_of_draws_is_added(after_fit: Any) -> None:
    model = after_fit(rows(), n_draws=40)
    assert model.posterior_.draws.n_draws == 40
    assert model.resume(n_draws=50) is model
    assert model.posterior_.draws.n_draws == model.posterior_.settings["n_draws"] == 90
    at_once = SpikeSlabMRF(**QUICK, n_draws=90).fit(rows())
    assert_begins_with(model, at_once)
    assert model.posterior_.settings == at_once.posterior_.settings


def test_a_complete_run_that_has_not_converged_goes_on_until_it_has(after_fit: Any) -> None:
    model = after_fit(hard_rows(), n_draws=40)
    assert not model.posterior_.converged
    model.resume()
    assert model.posterior_.converged
    assert model.posterior_.settings["stopped_by"] == "converged"
    assert_begins_with(model, SpikeSlabMRF(**QUICK, n_draws=40).fit(hard_rows()))


def test_a_run_that_has_converged_stays_as_it_is(after_fit: Any) -> None:
    model = after_fit(rows())
    before = model.posterior_
    assert before.converged
    for n_draws in (None, "auto"):
        assert model.resume(n_draws).posterior_ is before
    assert model.resume(7).posterior_.draws.n_draws == before.draws.n_draws + 7


def test_a_run_out_of_time_goes_on_as_if_it_had_had_more(after_fit: Any) -> None:
    # after 0.3 s a run is not at its first check yet
    model = after_fit(hard_rows(), n_warmup=2, time_budget=0.3, sampler={"thin": 20})
    stopped = model.posterior_
    assert stopped.settings["stopped_by"] == "time"
    warmed_up_for = [info.get("warmed_up_for", 2) for info in stopped.info]
    model.resume()
    assert model.posterior_.settings["stopped_by"] == "converged"
    assert model.posterior_.draws.n_draws > stopped.draws.n_draws
    if warmed_up_for == [2] * 4:
        whole = SpikeSlabMRF(random_state=5, n_warmup=2, sampler={"thin": 20}).fit(hard_rows())
        assert whole.posterior_.draws.n_draws == model.posterior_.draws.n_draws
        assert_begins_with(model, whole)


def test_a_time_budget_of_its_own(after_fit: Any) -> None:
    model = after_fit(rows(), n_draws=10**6, time_budget=0.3)
    first = model.posterior_.draws.n_draws
    for _ in range(2):
        model.resume(time_budget=0.3)
        assert model.posterior_.settings["stopped_by"] == "time"
        assert model.posterior_.draws.n_draws > first
        first = model.posterior_.draws.n_draws


def test_a_run_at_its_largest_number_of_draws_goes_on(after_fit: Any) -> None:
    model = after_fit(hard_rows(), max_draws=30)
    assert model.posterior_.settings["stopped_by"] == "draws"
    assert model.posterior_.draws.n_draws == 30
    model.resume()
    # at most max_draws further draws
    assert model.posterior_.draws.n_draws == 60


@pytest.mark.parametrize("wrong", [{"n_draws": 0}, {"n_draws": "all"}, {"time_budget": -1.0}])
def test_invalid_arguments(wrong: dict[str, Any]) -> None:
    model = SpikeSlabMRF(**QUICK, n_draws=5).fit(rows())
    with pytest.raises(InputError) as caught:
        model.resume(**wrong)
    assert str(caught.value.fields["parameter"]) in wrong


# --- what can be resumed ----------------------------------------------------------------------


def test_copies_and_unfitted_estimators_have_nothing_to_resume() -> None:
    fitted = SpikeSlabMRF(**QUICK, n_draws=5).fit(rows())
    for model in (SpikeSlabMRF(), pickle.loads(pickle.dumps(fitted))):
        with pytest.raises(InputError) as caught:
            model.resume()
        assert caught.value.code == "nothing-to-resume"


def test_a_checkpoint_is_found_in_an_output_folder(tmp_path: Path) -> None:
    SpikeSlabMRF(**QUICK, n_draws=5).fit(rows(), checkpoint=tmp_path / "checkpoint")
    for folder in (tmp_path, tmp_path / "checkpoint"):
        assert SpikeSlabMRF.from_checkpoint(folder).posterior_.draws.n_draws == 5


def test_the_estimator_of_a_checkpoint_has_the_parameters_of_the_run(tmp_path: Path) -> None:
    SpikeSlabMRF(**QUICK, n_draws=5, forbid=[(0, 1)]).fit(rows(), checkpoint=tmp_path)
    model = SpikeSlabMRF.from_checkpoint(tmp_path)
    assert (model.n_draws, model.n_warmup, model.forbid) == (5, 20, [(0, 1)])
    # those that do not change draws can be set
    assert model.set_params(n_jobs=1).resume(5).posterior_.draws.n_draws == 10
    assert model.inclusion_probability_[0, 1] == 0


def interrupt_after(monkeypatch: pytest.MonkeyPatch, n_checks: int) -> None:
    """Request a stop at the n-th time that a chain asks, after chunks of five draws at most."""
    left = [n_checks]

    def fives(total: int, most: int = 5) -> Iterator[int]:
        yield from [5] * (total // 5) + [total % 5] * (total % 5 > 0)

    for module in (chain_run, collapsed_warmup):
        monkeypatch.setattr(module, "chunks", fives)

    def requested(_: Stop) -> bool:
        left[0] -= 1
        return left[0] < 0

    monkeypatch.setattr(Stop, "requested", requested)


def test_an_interrupted_fit_is_resumed_in_the_same_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SpikeSlabMRF(**QUICK, n_draws=300, n_jobs=1)
    with monkeypatch.context() as patch:
        interrupt_after(patch, 130)
        with pytest.warns(InputWarning, match="Ctrl-C ended the run") as caught:
            model.fit(rows(), checkpoint=tmp_path)
    assert not any(issubclass(item.category, ConvergenceWarning) for item in caught)
    assert model.posterior_.settings["stopped_by"] == "interrupt"
    # the largest total of equally many draws of some chains
    assert 0 < model.posterior_.draws.n_draws <= 300
    assert model.posterior_.draws.n_chains < 4
    model.resume()
    assert_begins_with(model, SpikeSlabMRF(**QUICK, n_draws=300).fit(rows()))
    assert model.posterior_.draws.bias.shape[:2] == (4, 300)


def test_an_interrupt_during_warm_up_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = SpikeSlabMRF(**QUICK, n_draws=30, n_jobs=1)
    with monkeypatch.context() as patch:
        interrupt_after(patch, 2)
        with pytest.raises(InterruptedInWarmUp, match=r"0 to [1-9]\d* of its 20 draws per chain"):
            model.fit(rows(), checkpoint=tmp_path)
    again = SpikeSlabMRF.from_checkpoint(tmp_path)
    for unfinished in (model, again):
        with pytest.raises(NotFittedError):
            check_is_fitted(unfinished)
    assert Checkpoint(tmp_path).stopped_by == "interrupt"
    # the draws of all chains, which have none yet, and 12 more
    again.resume(12)
    assert_begins_with(again, SpikeSlabMRF(**QUICK, n_draws=12).fit(rows()))
    model.resume()
    assert model.posterior_.draws.n_draws >= 12


def test_a_killed_continuation_goes_on_to_the_same_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The goal of a resumed run, and the checks on the way, are those of its checkpoint."""
    whole = SpikeSlabMRF(**QUICK, n_draws=40).fit(hard_rows()).resume()
    model = SpikeSlabMRF(**QUICK, n_draws=40, n_jobs=1).fit(hard_rows(), checkpoint=tmp_path)

    def fail(*_: object) -> None:
        raise OSError("killed")

    reached = Convergence.reached
    checks = [0]

    def killed_at_the_third_check(convergence: Convergence) -> bool:
        checks[0] += 1
        if checks[0] == 3:
            fail()
        return bool(reached.fget(convergence))  # type: ignore[attr-defined]

    with monkeypatch.context() as patch:
        patch.setattr(spike_slab.Convergence, "reached", property(killed_at_the_third_check))
        with pytest.raises(OSError, match="killed"):
            model.resume()
    again = SpikeSlabMRF.from_checkpoint(tmp_path)
    with pytest.raises(NotFittedError):
        check_is_fitted(again)
    again.resume()
    assert again.posterior_.draws.n_draws == whole.posterior_.draws.n_draws
    assert_begins_with(again, whole)


# --- the warning ------------------------------------------------------------------------------


def test_a_fit_that_has_not_converged_warns_once() -> None:
    with pytest.warns(ConvergenceWarning) as caught:
        model = SpikeSlabMRF(**QUICK, n_draws=30).fit(hard_rows())
    (item,) = caught
    assert item.filename == __file__
    text, convergence = str(item.message), model.posterior_.convergence
    assert "30 draws" in text
    assert str(convergence.worst) in text
    assert f"{convergence.unconverged_edges.size} edges" in text
    assert "resume()" in text
    with pytest.warns(ConvergenceWarning, match="40 draws") as caught:
        model.resume(10)
    assert [item.filename for item in caught] == [__file__]


@pytest.mark.filterwarnings("error")
def test_a_fit_that_has_converged_does_not_warn() -> None:
    model = SpikeSlabMRF(**QUICK).fit(rows())
    assert model.posterior_.converged
    assert model.resume().posterior_.converged


def test_problems_that_draws_do_not_solve_come_first() -> None:
    with pytest.warns(ConvergenceWarning, match=r"fewer than four chains; this run has 2.*more\."):
        SpikeSlabMRF(**QUICK, n_draws=30, n_chains=2).fit(hard_rows())


@pytest.mark.filterwarnings("error")
def test_looking_at_a_run_does_not_warn(tmp_path: Path) -> None:
    with pytest.warns(ConvergenceWarning):
        SpikeSlabMRF(**QUICK, n_draws=5).fit(rows(), checkpoint=tmp_path)
    SpikeSlabMRF.from_checkpoint(tmp_path)
