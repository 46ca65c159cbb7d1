"""The paper's experiments at the smallest scale: all figures run, and results are cached."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from slabfield.cli.app import app
from slabfield.reproduce import FIGURES, cache, runner
from slabfield.reproduce.cache import Cache, Piece
from slabfield.reproduce.claims import CLAIMS
from slabfield.reproduce.comparison import random_groups
from slabfield.reproduce.data_sets import DataSet, open_data_set
from slabfield.reproduce.fitted_models import BINS, fit_bayes, fit_path
from slabfield.reproduce.langevin_runs import autocorrelation, integrated_time
from slabfield.reproduce.runner import reproduce
from slabfield.reproduce.scale import SCALES
from slabfield.reproduce.workbench import Workbench

TINY = SCALES["tiny"]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with random images in place of MNIST."""
    folder = tmp_path_factory.mktemp("data")
    ink = np.random.default_rng(0).random((110, 28, 28)) < 0.4
    pixels = np.where(ink, 255, 0).astype(np.uint8)
    np.savez(folder / "mnist.npz", x_train=pixels[:60], x_test=pixels[60:])
    return folder


@pytest.fixture(scope="module")
def made(images: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a complete run."""
    out = tmp_path_factory.mktemp("reproduction")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLABFIELD_DATA", str(images))
        reproduce("all", "tiny", out, n_jobs=1, quiet=True)
    return out


def refuse(piece: Piece) -> None:
    raise AssertionError(f"{piece.function.__name__} was called again")


@pytest.mark.parametrize("name", FIGURES.values())
def test_every_figure_is_drawn_beside_its_numbers(made: Path, name: str) -> None:
    assert (made / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (made / f"{name}.svg").read_text(encoding="utf-8")
    tables = [pd.read_csv(path) for path in made.glob(f"{name}*.csv")]
    assert len(tables) > 0 or name == "figure01"
    assert all(len(table) > 0 for table in tables)


def test_the_page_has_every_claim_with_a_verdict_and_every_figure(made: Path) -> None:
    page = (made / "reproduction.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| ")][1:]
    assert len(lines) == len(CLAIMS)
    for line, claim in zip(lines, CLAIMS, strict=True):
        assert line.startswith(f"| {claim.words} |")
        verdict = line.strip(" |").split("|")[-1].strip()
        assert verdict in ("holds", "**does not hold**", "not measured at this scale")
    shown = re.findall(r"\]\(([^)]+)\)", page)
    assert {path for path in shown if path.endswith(".png")} == {
        f"{name}.png" for name in FIGURES.values()
    }
    assert all((made / path).exists() for path in shown)


def test_all_methods_are_in_the_scores(made: Path) -> None:
    scores = pd.read_csv(made / "figure06.csv")
    bayes = {"Bayes", "Bayes PM", "Bayes p0", "Bayes PM p0"}
    for _, part in scores.groupby(["world", "seed"]):
        assert set(part["method"]) == bayes | {"Wain Max", "Wain Min", "MLE"}
    assert scores["cll"].lt(0).all()
    assert scores["density"].between(0, 1).all()
    images = pd.read_csv(made / "figure10.csv")
    assert set(images["method"]) == set(scores["method"])
    assert images["true_density"].isna().all() if "true_density" in images else True


def test_a_second_run_uses_the_cache_and_gives_the_same_table(
    made: Path, images: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLABFIELD_DATA", str(images))
    monkeypatch.setattr(Piece, "call", refuse)
    before = (made / "figure09.csv").read_bytes()
    reproduce("9", "tiny", made, n_jobs=1, quiet=True)
    assert (made / "figure09.csv").read_bytes() == before


def test_without_images_their_figures_are_skipped_and_the_page_says_so(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SLABFIELD_DATA", raising=False)
    monkeypatch.setattr(runner, "FIGURES", {name: FIGURES[name] for name in ("7", "10", "11")})
    (tmp_path / "cache").symlink_to(made / "cache")
    monkeypatch.setattr(Piece, "call", refuse)
    reproduce("all", "tiny", tmp_path, n_jobs=1)
    output = capsys.readouterr().out
    assert "Figure 10 is skipped. MNIST was not found" in output
    assert not (tmp_path / "figure10.png").exists()
    page = (tmp_path / "reproduction.md").read_text(encoding="utf-8")
    assert page.count("not measured at this scale |") == len(CLAIMS) - 1
    assert "*Not made at this scale.*" in page


# --- the command line -------------------------------------------------------------------------


def call(*arguments: object):
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])


def test_the_command_lists_the_files_it_wrote(tmp_path: Path) -> None:
    result = call(1, "--scale", "tiny", "--out", tmp_path, "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert "figure01.png, figure01.svg" in result.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("12",), "FIGURE must be one of '1', '2'"),
        (("1", "--scale", "huge"), "--scale must be one of 'quick', 'paper'; got 'huge'"),
        (("10", "--scale", "tiny"), "MNIST was not found"),
        (("1", "--out", "/dev/null/below"), "--out must be a folder that can be written in"),
    ],
)
def test_bad_arguments_are_reported(
    arguments: tuple[str, ...],
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SLABFIELD_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    result = call(*arguments)
    assert result.exit_code == 2
    assert expected in result.output.replace("\n", " ")


def test_an_interrupted_command_reports_that_results_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(self: Piece) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Piece, "call", stop)
    result = call(7, "--scale", "tiny", "--out", tmp_path, "--jobs", 1)
    assert result.exit_code == 130
    assert "finished work is kept" in result.output


# --- cached results ---------------------------------------------------------------------------


def square(x: int, log: str, fails_at: int | None = None) -> dict[str, int]:
    """A piece of work that records each call in a file."""
    if x == fails_at and not Path(log, "repaired").exists():
        raise KeyboardInterrupt
    done = Path(log, f"{x}.done")
    done.write_text((done.read_text() if done.exists() else "") + "x")
    return {"y": x * x}


def squares(log: Path, n: int = 4, fails_at: int | None = None) -> list[Piece]:
    return [Piece(square, {"x": x, "log": str(log), "fails_at": fails_at}) for x in range(n)]


def bench_in(folder: Path, n_jobs: int = 1) -> Workbench:
    return Workbench(TINY, folder, n_jobs, quiet=True)


def test_an_interrupted_run_resumes_where_it_stopped(tmp_path: Path) -> None:
    pieces = squares(tmp_path, fails_at=2)
    with pytest.raises(KeyboardInterrupt):
        bench_in(tmp_path).results(pieces, "squares")
    (tmp_path / "repaired").touch()
    found = bench_in(tmp_path).results(pieces, "squares")
    assert [int(result["y"]) for result in found] == [0, 1, 4, 9]
    # no piece was run twice
    assert all((tmp_path / f"{x}.done").read_text() == "x" for x in range(4))
    assert not list((tmp_path / "cache").glob("*.tmp*"))


def test_a_damaged_result_is_recomputed(tmp_path: Path) -> None:
    bench, (piece,) = bench_in(tmp_path), squares(tmp_path, 1)
    bench.finish([piece], "squares")
    path = bench.cache.path(piece.key)
    path.write_bytes(path.read_bytes()[:40])
    assert int(bench.results([piece], "squares")[0]["y"]) == 0
    assert (tmp_path / "0.done").read_text() == "xx"


def test_a_duplicate_piece_is_run_once(tmp_path: Path) -> None:
    pieces = squares(tmp_path, 1) * 2
    assert len(bench_in(tmp_path).results(pieces, "squares")) == 2
    assert (tmp_path / "0.done").read_text() == "x"


def test_progress_without_a_terminal_is_plain_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Workbench(TINY, tmp_path, 1).finish(squares(tmp_path), "squares")
    assert capsys.readouterr().out == "squares: 4 of 4 pieces, about 0 s left\n"


def test_keys_depend_on_arguments_and_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = squares(tmp_path, 2)
    again = Piece(square, dict(reversed(first.arguments.items())))
    assert first.key == again.key != second.key
    data_set = DataSet("block", 1, 50, 10)
    as_tuple = Piece(square, {"d": tuple(data_set)})
    assert Piece(square, {"d": data_set}).key == as_tuple.key
    source = tmp_path / "source.py"
    source.write_text("x = 1\n")
    before = cache.fingerprint(str(source))
    source.write_text("x = 2\n")
    cache.fingerprint.cache_clear()
    assert cache.fingerprint(str(source)) != before


def test_keys_do_not_depend_on_drawing() -> None:
    parts = {cache.part_of(path) for path in cache.PACKAGE.rglob("*.py")}
    assert set(cache.DRAWING) <= parts
    assert "chains" in parts - set(cache.DRAWING)


def test_parallel_processes_give_the_same_results(tmp_path: Path) -> None:
    data_set = DataSet("block", 1, 40, 20)
    pieces = [
        Piece(fit_path, {"data_set": data_set, "method": method, "n_strengths": 4})
        for method in ("Wain Max", "Wain Min")
    ]
    alone = bench_in(tmp_path / "one").results(pieces, "paths")
    shared = bench_in(tmp_path / "two", 2).results(pieces, "paths")
    for one, other in zip(alone, shared, strict=True):
        np.testing.assert_array_equal(one["edges"], other["edges"])


# --- the pieces -------------------------------------------------------------------------------


def test_a_data_set_is_reproducible_and_its_test_rows_differ() -> None:
    data_set = DataSet("lattice", 3, 60, 50, 4)
    data, again = open_data_set(data_set), open_data_set(list(data_set))
    np.testing.assert_array_equal(data.train, again.train)
    more = open_data_set(data_set._replace(n_rows=61))
    np.testing.assert_array_equal(data.truth.coupling, more.truth.coupling)
    assert not np.array_equal(data.test[:50], data.train[:50])


def test_a_fit_agrees_with_the_estimator() -> None:
    from slabfield import SpikeSlabMRF, evaluate

    data_set = DataSet("block", 2, 50, 30)
    settings = {"n_draws": 40, "n_warmup": 5, "n_chains": 1}
    found = fit_bayes(data_set, 0.3, "exact", sorted(settings.items()))
    data = open_data_set(data_set)
    model = SpikeSlabMRF("exact", inclusion_prior=0.3, random_state=2, n_jobs=1, **settings)
    model.fit(data.train)
    upper = np.triu_indices(12, 1)
    np.testing.assert_array_equal(found["edges"], model.coupling_[upper])
    fields = model.posterior_.fields(100)
    assert found["cll_bayes"] == evaluate.conditional_log_likelihood(fields, data.test).mean()
    table = model.posterior_.to_dataframe()
    expected = np.sort(table["sd_given_presence"].dropna())
    sd = found["sd"][np.isfinite(found["sd"])]
    np.testing.assert_allclose(np.sort(sd), expected, atol=1e-7)
    values = model.posterior_.draws.values.data
    assert found["visits"].sum() == values.size
    assert found["histogram"].sum() == np.sum((values >= BINS[0]) & (values <= BINS[-1]))


def test_autocorrelation_of_a_known_process() -> None:
    rng = np.random.default_rng(0)
    series = np.zeros((40_000, 2))
    for t in range(1, len(series)):
        series[t] = 0.8 * series[t - 1] + rng.standard_normal(2)
    correlation = autocorrelation(series)
    np.testing.assert_allclose(correlation[:4].T, np.tile(0.8 ** np.arange(4), (2, 1)), atol=0.03)
    np.testing.assert_allclose(integrated_time(correlation), 9.0, rtol=0.15)


def test_random_groups_have_distinct_nodes() -> None:
    groups = random_groups(20, 200, seed=0)
    assert all(len(set(group)) == 9 for group in groups.tolist())
    assert set(np.unique(groups)) == set(range(20))


def test_cache_of_named_arrays(tmp_path: Path) -> None:
    stored = Cache(tmp_path / "new")
    assert not stored.has("key")
    stored.store("key", {"x": np.arange(3.0), "name": np.array(["a", "b"])})
    found = stored.load("key")
    np.testing.assert_array_equal(found["x"], np.arange(3.0))
    assert found["name"].tolist() == ["a", "b"]
