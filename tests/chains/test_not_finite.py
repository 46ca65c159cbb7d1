"""A chain whose state is not finite is restarted once, then an error; nothing of it is kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_checkpoint import block_rows

from slabfield import SpikeSlabMRF
from slabfield.chains import collapsed_chain, collapsed_warmup, paper_chain
from slabfield.chains.chain_run import ChainRun
from slabfield.moves.chain_state import ChainState
from slabfield.moves.iteration import NotFinite, Record
from slabfield.validation import InputWarning, NotFiniteError

ENGINES: dict[str, dict[str, Any]] = {
    "exact": {},
    "pseudo": {"likelihood": "pseudo"},
    "particles": {"likelihood": "particles"},
    "paper": {"preset": "paper", "sampler": {"thin": 5}},
}
WHERE = ("bias", "coupling", "hyper")


class Plant:
    """Compiled loops that leave NaN in a chain's state and draws, ``n_times`` times.

    ``when`` is "warm-up", where draws are not kept, or "sampling".
    """

    def __init__(self, patch: pytest.MonkeyPatch, where: str, when: str, n_times: int) -> None:
        self.where, self.when, self.left = where, when, n_times
        patch.setattr(collapsed_chain, "collapsed", self.around(collapsed_chain.collapsed))
        for name, loop in paper_chain.ITERATIONS.items():
            patch.setitem(paper_chain.ITERATIONS, name, self.around(loop))

    def around(self, loop: Any) -> Any:
        def planted(*arguments: Any) -> Any:
            info = loop(*arguments)
            [state] = [part for part in arguments if isinstance(part, ChainState)]
            [record] = [part for part in arguments if isinstance(part, Record)]
            phase = "sampling" if len(record.bias) else "warm-up"
            if phase == self.when and self.left > 0:
                self.left -= 1
                getattr(state, self.where)[-1] = np.nan
                if phase == "sampling":
                    getattr(record, self.where)[-1, -1] = np.inf
            return info

        return planted


def fitted(engine: str, **given: Any) -> SpikeSlabMRF:
    parameters = {"n_chains": 1, "n_warmup": 10, "n_draws": 30, "n_jobs": 1, "random_state": 0}
    return SpikeSlabMRF(**(parameters | ENGINES[engine] | given)).fit(block_rows())


def assert_finite(model: SpikeSlabMRF) -> None:
    draws = model.posterior_.draws
    for values in (draws.bias, draws.values.data, draws.sigma0, draws.p0, draws.potential):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("when", ["warm-up", "sampling"])
def test_a_chain_is_restarted_once(engine: str, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = fitted(engine)
    plant = Plant(monkeypatch, "bias", when, 1)
    with pytest.warns(InputWarning, match="Chain 0 reached values that are not finite"):
        model = fitted(engine)
    assert plant.left == 0
    assert model.posterior_.draws.n_draws == 30
    assert_finite(model)
    assert any("not finite and had to be restarted" in text for text in model.posterior_.warnings)
    assert model.posterior_.info[0]["not_finite"] == 1
    # from another start, with other random numbers
    assert not np.array_equal(model.posterior_.draws.bias, plain.posterior_.draws.bias)


@pytest.mark.parametrize("where", WHERE)
def test_every_part_of_the_state_is_checked(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
        pytest.raises(NotFiniteError, match="those of chain 0 were not, not even after a restart"),
    ):
        fitted(engine)


def test_other_chains_are_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = fitted("exact", n_chains=3)
    Plant(monkeypatch, "bias", "warm-up", 1)
    with pytest.warns(InputWarning, match="Chain 0"):
        model = fitted("exact", n_chains=3)
    before, after = plain.posterior_.draws.bias, model.posterior_.draws.bias
    assert np.array_equal(before[1:], after[1:])
    assert not np.array_equal(before[0], after[0])


def test_the_checkpoint_is_kept_and_the_run_continues_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parameters = {"n_chains": 2, "n_warmup": 10, "n_draws": 30, "n_jobs": 1, "random_state": 0}
    whole = SpikeSlabMRF(**parameters | {"n_draws": 60}).fit(block_rows())
    model = SpikeSlabMRF(**parameters).fit(block_rows(), checkpoint=tmp_path)
    with monkeypatch.context() as patch:
        Plant(patch, "bias", "sampling", 100)
        with (
            pytest.warns(InputWarning, match="not finite"),
            pytest.raises(NotFiniteError, match=r"Its last finite state is in "),
        ):
            model.resume(30)
    again = SpikeSlabMRF.from_checkpoint(tmp_path).resume()
    assert np.array_equal(again.posterior_.draws.bias, whole.posterior_.draws.bias)


def test_a_later_state_of_another_attempt_replaces_earlier_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on a cluster, where workers return only their new draws."""
    model = fitted("exact")
    [run] = model._runs
    earlier, packed = run.buffer.n_draws, run.packed()
    there = ChainRun.from_state(run.problem, run.settings, None, packed)
    Plant(monkeypatch, "bias", "sampling", 1)
    there.buffer.parts = []
    with pytest.warns(InputWarning, match="not finite"):
        there.extend(5, lambda _: None)
    run.update(there.packed())
    assert earlier == 30
    assert run.buffer.n_draws == there.buffer.n_draws == 5
    assert run.attempt == 1
    # the file, if there is one, keeps the 30 draws until there are as many again
    assert run.n_written == 30


@pytest.fixture
def failing_adaptation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Adaptation, which runs compiled loops, is not finite the first time."""
    plain, failures = collapsed_warmup.freeze, [NotFinite()]

    def freeze(chain: Any) -> Any:
        if failures:
            raise failures.pop()
        return plain(chain)

    monkeypatch.setattr(collapsed_warmup, "freeze", freeze)


@pytest.mark.usefixtures("failing_adaptation")
def test_a_warm_up_that_runs_out_of_time_is_restarted_too() -> None:
    [fit] = fitted("exact", n_warmup=100)._runs
    with pytest.warns(InputWarning, match="not finite"):
        run = ChainRun(fit.problem, fit.settings, 0, 0, lambda _: None, patience=-1.0)
    assert run.warm
    assert run.attempt == 1


@pytest.mark.usefixtures("failing_adaptation")
def test_a_warm_up_that_a_cluster_ends_is_restarted_too() -> None:
    [run] = fitted("exact")._runs
    run.n_warmup = 2 * run.n_warmed
    with pytest.warns(InputWarning, match="not finite"):
        run.end_warm_up(lambda _: None)
    assert (run.n_warmed, run.buffer.n_draws, run.attempt) == (0, 0, 1)
