"""Every engine implements what the moves of its chains require, and a missing function is named."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from slabfield import datasets
from slabfield._jit import generic, jit, optional
from slabfield.chains.collapsed_warmup import ENGINES, start_collapsed
from slabfield.chains.paper_chain import start_chain
from slabfield.configuration import Settings
from slabfield.likelihood import protocols
from slabfield.models.binary import BinaryPairwise
from slabfield.moves import block_sweep, iteration
from slabfield.priors import Prior
from slabfield.problem import Problem


class One(NamedTuple):
    value: float


class Two(NamedTuple):
    value: float


@generic
def required(engine):
    """Required of every type."""


@required.register(One)
def of_one(engine):
    return engine.value


@optional
def with_default(engine):
    """Doubled, by default."""
    return 2.0 * engine.value


@with_default.register(One)
def negative(engine):
    return -engine.value


@jit
def compiled(engine):
    return with_default(engine)


def test_defaults_serve_types_without_an_implementation() -> None:
    assert with_default(One(3.0)) == compiled(One(3.0)) == -3.0
    assert with_default(Two(3.0)) == compiled(Two(3.0)) == 6.0


def test_a_missing_function_is_named() -> None:
    assert required(One(3.0)) == 3.0
    with pytest.raises(TypeError, match="Two does not implement required"):
        required(Two(3.0))
    protocols.check_engine(One(1.0), (required, with_default))
    with pytest.raises(TypeError, match="Two must implement required"):
        protocols.check_engine(Two(1.0), (with_default, required))


def problem() -> Problem:
    rows = np.asarray(datasets.make_block(60, random_state=0, n_groups=1).rows)
    model = BinaryPairwise(rows.shape[1])
    return Problem(model, rows, model.sums(rows), Prior.standard(model.n_interactions))


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_of_the_default_chain_meet_its_requirements(engine: str) -> None:
    settings = Settings(engine=engine, scheme="collapsed", thin=1)
    chain = ENGINES[engine].start(problem(), settings, np.random.default_rng(0), "empty")
    protocols.check_engine(chain.engine, block_sweep.requirements(chain.engine))


PAPER = [("approximate", "particles"), ("adjusted", "exact")]


@pytest.mark.parametrize(("scheme", "engine"), PAPER)
def test_engines_of_the_paper_meet_its_requirements(scheme: str, engine: str) -> None:
    settings = Settings(engine=engine, scheme=scheme, thin=1, n_particles=64)
    chain = start_chain(problem(), settings, np.random.default_rng(0))
    protocols.check_engine(chain.engine, iteration.REQUIRES[scheme])


def test_a_chain_refuses_an_engine_that_lacks_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(engine="particles", scheme="adjusted", thin=1, n_particles=64)
    with pytest.raises(TypeError, match="BinaryParticles must implement log_partition"):
        start_chain(problem(), settings, np.random.default_rng(0))

    def start(*arguments: Any) -> Any:
        return plain(*arguments)._replace(engine=Two(1.0))

    plain = ENGINES["exact"].start
    monkeypatch.setattr(ENGINES["exact"], "start", start)
    settings = Settings(engine="exact", scheme="collapsed", thin=1)
    with pytest.raises(TypeError, match="Two must implement advance, leave_block, open_block"):
        start_collapsed(problem(), settings, np.random.default_rng(0))
