"""A chain that comes to numbers that are not finite: one new start, then an error; none is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slabfield import SpikeSlabMRF
from slabfield.checks import InputWarning, NotFiniteError
from slabfield.moves.state import ChainState
from slabfield.sampler import collapsed, paper
from slabfield.sampler.iteration import Record
from slabfield.sampler.run import ChainRun
from test_checkpoint import block_rows

ENGINES: dict[str, dict[str, Any]] = {
    "exact": {},
    "pseudo": {"likelihood": "pseudo"},
    "particles": {"likelihood": "particles"},
    "paper": {"preset": "paper", "thin": 5},
}
WHERE = ("bias", "coupling", "hyper")


class Plant:
    """Compiled loops that leave NaN in a chain's state, and in what it has drawn, so many times.

    ``when`` is "warm-up", where draws are not kept, or "sampling".
    """

    def __init__(self, patch: pytest.MonkeyPatch, where: str, when: str, n_times: int) -> None:
        self.where, self.when, self.left = where, when, n_times
        patch.setattr(collapsed, "collapsed", self.around(collapsed.collapsed))
        for name, loop in paper.SCHEMES.items():
            patch.setitem(paper.SCHEMES, name, self.around(loop))

    def around(self, loop: Any) -> Any:
        def planted(*told: Any) -> Any:
            info = loop(*told)
            [state] = [part for part in told if isinstance(part, ChainState)]
            [record] = [part for part in told if isinstance(part, Record)]
            phase = "sampling" if len(record.bias) else "warm-up"
            if phase == self.when and self.left > 0:
                self.left -= 1
                getattr(state, self.where)[-1] = np.nan
                if phase == "sampling":
                    getattr(record, self.where)[-1, -1] = np.inf
            return info

        return planted


def fitted(engine: str, **given: Any) -> SpikeSlabMRF:
    told = {"n_chains": 1, "n_warmup": 10, "n_draws": 30, "n_jobs": 1, "random_state": 0}
    return SpikeSlabMRF(**(told | ENGINES[engine] | given)).fit(block_rows())


def assert_finite(model: SpikeSlabMRF) -> None:
    draws = model.posterior_.draws
    for values in (draws.bias, draws.values.data, draws.sigma0, draws.p0, draws.potential):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("when", ["warm-up", "sampling"])
def test_a_chain_begins_again_once(engine: str, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = fitted(engine)
    plant = Plant(monkeypatch, "bias", when, 1)
    with pytest.warns(InputWarning, match="Chain 0 came to numbers that are not finite"):
        model = fitted(engine)
    assert plant.left == 0
    assert model.posterior_.draws.n_draws == 30
    assert_finite(model)
    assert any("not finite and began again" in text for text in model.posterior_.warnings)
    assert model.posterior_.info[0]["not_finite"] == 1
    # from another start, with other random numbers
    assert not np.array_equal(model.posterior_.draws.bias, plain.posterior_.draws.bias)


@pytest.mark.parametrize("where", WHERE)
def test_wherever_in_the_state_it_is(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant = Plant(monkeypatch, where, "sampling", 1)
    with pytest.warns(InputWarning, match="not finite"):
        assert_finite(fitted("exact"))
    assert plant.left == 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("when", ["warm-up", "sampling"])
def test_a_second_time_ends_the_run(
    engine: str, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Plant(monkeypatch, "bias", when, 2)
    with (
        pytest.warns(InputWarning, match="not finite"),
        pytest.raises(NotFiniteError, match="chain 0 did not, and again not after a new start"),
    ):
        fitted(engine)


def test_other_chains_are_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = fitted("exact", n_chains=3)
    Plant(monkeypatch, "bias", "warm-up", 1)
    with pytest.warns(InputWarning, match="Chain 0"):
        model = fitted("exact", n_chains=3)
    before, after = plain.posterior_.draws.bias, model.posterior_.draws.bias
    assert np.array_equal(before[1:], after[1:])
    assert not np.array_equal(before[0], after[0])


def test_the_checkpoint_is_kept_and_the_run_goes_on_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"n_chains": 2, "n_warmup": 10, "n_draws": 30, "n_jobs": 1, "random_state": 0}
    whole = SpikeSlabMRF(**told | {"n_draws": 60}).fit(block_rows())
    model = SpikeSlabMRF(**told).fit(block_rows(), checkpoint=tmp_path)
    with monkeypatch.context() as patch:
        Plant(patch, "bias", "sampling", 100)
        with (
            pytest.warns(InputWarning, match="not finite"),
            pytest.raises(NotFiniteError, match=r"What it was before is in "),
        ):
            model.extend(30)
    again = SpikeSlabMRF.resume(tmp_path)
    assert np.array_equal(again.posterior_.draws.bias, whole.posterior_.draws.bias)


def test_a_later_state_of_another_attempt_replaces_earlier_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on a cluster, where workers send back what they have drawn since."""
    model = fitted("exact")
    [run] = model._runs
    earlier, packed = run.keeper.n_draws, run.packed()
    there = ChainRun.from_state(run.problem, run.settings, None, packed)
    Plant(monkeypatch, "bias", "sampling", 1)
    there.keeper.parts = []
    with pytest.warns(InputWarning, match="not finite"):
        there.extend(5, lambda _: None)
    run.take(there.packed())
    assert earlier == 30
    assert run.keeper.n_draws == there.keeper.n_draws == 5
    assert run.attempt == 1
