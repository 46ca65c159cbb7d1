"""Progress of running chains, and its stream; exit codes of real processes."""

import os
import re
import select
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from math import isnan
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import slabfield
from skips import NO_TERMINAL
from slabfield import datasets, load_posterior
from slabfield.chains.run_clock import Deadline
from slabfield.progress import Watch, chain_progress, is_shown
from slabfield.progress import watch as watching
from slabfield.progress.lines import line, show_lines
from slabfield.progress.live import render

COMMAND = (sys.executable, "-c", "from slabfield.cli import main; main()")
SHORT = ("--draws", "10", "--warmup", "20", "--seed", "4", "--jobs", "1")


class FakeRun:
    """A chain with only a series of draws."""

    def __init__(self, series: np.ndarray, n_edges: int) -> None:
        self.buffer = SimpleNamespace(n_draws=len(series), series=lambda: series)
        self.chain = SimpleNamespace(state=SimpleNamespace(n_members=np.array([n_edges])))


def fake_runs(shift: float = 0.0, n_draws: int = 200) -> list[FakeRun]:
    rng = np.random.default_rng(0)
    runs = [FakeRun(rng.normal(size=(n_draws, 4)), 7 + k) for k in range(4)]
    runs[0].buffer.series()[:, 1] += shift
    return runs


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(watching.time, "monotonic", lambda: now.seconds)
    return now


def test_before_the_first_report() -> None:
    view = Watch(4, 20, 50).snapshot()
    assert not view.started
    assert view.share == 0
    assert isnan(view.seconds_left)
    assert not view.worst.known
    assert line(view).startswith("starting")


def test_rate_and_time_left(clock: SimpleNamespace) -> None:
    watch = Watch(2, 10, 40)
    reports = [watch(0), watch(1)]
    for _ in range(6):
        clock.seconds += 1
        for report in reports:
            report(5)
    view = watch.snapshot()
    # 5 draws per second each; draws after warm-up are not counted before the chains are set
    assert [chain.rate for chain in view.chains] == [pytest.approx(5.0)] * 2
    assert view.share == pytest.approx(20 / 100)
    assert view.seconds_left == pytest.approx(80 / 10)
    assert line(view) == "warm-up 10 of 10 per chain, 8 s left"


def test_the_time_budget_bounds_the_time_left(clock: SimpleNamespace) -> None:
    watch = Watch(1, 10, None, Deadline(4.5))
    for _ in range(2):
        clock.seconds += 1
        watch(0)(5)
    assert watch.snapshot().seconds_left == pytest.approx(2.5)
    clock.seconds += 10
    assert watch.snapshot().seconds_left == 0


def test_a_chain_that_waits_has_no_rate(clock: SimpleNamespace) -> None:
    watch = Watch(2, 0, 100)
    for _ in range(3):
        clock.seconds += 1
        watch(0)(10)
    clock.seconds += 60
    assert watch.snapshot().chains[0].rate < 0.5
    assert watch.snapshot().chains[1].rate == 0


def test_mixing_of_the_draws_so_far() -> None:
    shown = []
    for shift in (0.0, 5.0):
        watch = Watch(4, 10, 400)
        watch.watch(fake_runs(shift))  # type: ignore[arg-type]
        shown.append(watch.snapshot())
    good, bad = shown
    assert good.worst.rhat < 1.05 < 1.3 < bad.worst.rhat
    assert bad.worst.rhat_of == bad.worst.ess_of == "sigma0"
    assert good.worst.ess > 300
    assert bad.worst.ess < 20
    assert good.n_edges == 8.5
    text = line(good)
    assert text.startswith("draws 200 of 400 per chain")
    assert str(good.worst) in text
    assert "wanted" not in text
    assert watch.summary().startswith("4 chains of 200 draws in")
    assert watch.summary().endswith(f"{bad.worst}.")


def test_until_convergence_the_target_is_what_convergence_needs() -> None:
    watch = Watch(4, 10, None)
    watch.watch(fake_runs())  # type: ignore[arg-type]
    view = watch.snapshot()
    assert isnan(view.seconds_left)
    text = line(view)
    assert text.startswith("draws 200 per chain")
    assert f"R-hat {view.worst.rhat:.3f} ({view.worst.rhat_of}; wanted below 1.05)" in text
    assert f"({view.worst.ess_of}; wanted at least 100)" in text
    assert text.endswith("s so far")
    # the number of draws at the next check, which keeps growing, is not shown
    assert "of 2" not in text
    watch.checked(SimpleNamespace(unconverged_quantities={}, unconverged_parameters="3 edges"))  # type: ignore[arg-type]
    assert "3 edges not converged at the last check" in line(watch.snapshot())
    watch.checked(SimpleNamespace(unconverged_quantities={"p0": ()}, unconverged_parameters="3"))  # type: ignore[arg-type]
    assert "last check" not in line(watch.snapshot())


def test_too_few_draws_have_no_rhat() -> None:
    watch = Watch(4, 10, None)
    watch.watch(fake_runs(n_draws=5))  # type: ignore[arg-type]
    assert not watch.snapshot().worst.known


@pytest.mark.parametrize(("n_draws", "shown"), [(400, "200/400"), (None, " 200 ")])
def test_the_live_table_has_a_row_for_each_chain(n_draws: int | None, shown: str) -> None:
    from rich.console import Console

    watch = Watch(4, 10, n_draws)
    watch.watch(fake_runs())  # type: ignore[arg-type]
    console = Console(width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(render(watch.snapshot()))
    console.file.close()
    text = console.export_text()
    assert text.count(shown) == 4
    assert "R-hat" in text
    assert ("wanted" in text) == (n_draws is None)
    assert "effective draws" in text


def test_a_line_is_written_for_each_tenth(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("slabfield.progress.lines.POLL_SECONDS", 0.001)
    watch = Watch(1, 100, None)
    with show_lines(watch):
        for _ in range(20):
            watch(0)(5)
            time.sleep(0.02)
    lines = capsys.readouterr().err.splitlines()
    assert 5 <= len(lines) <= 10
    assert all(text.startswith("warm-up") for text in lines)


def test_an_exception_propagates_and_ends_the_display() -> None:
    with pytest.raises(KeyboardInterrupt), chain_progress(2, 10, 10):
        raise KeyboardInterrupt


def test_an_interrupted_run_has_no_closing_line(capsys: pytest.CaptureFixture[str]) -> None:
    for stopped_by, shown in (("draws", True), ("interrupt", False)):
        with chain_progress(4, 10, 400) as watch:
            watch.watch(fake_runs())  # type: ignore[arg-type]
            watch.end(stopped_by)
        assert ("4 chains of" in capsys.readouterr().err) == shown


def test_a_short_run_shows_nothing_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    with chain_progress(4, 10, 400, delay=60.0) as watch:
        watch.watch(fake_runs())  # type: ignore[arg-type]
        watch.end("draws")
    assert capsys.readouterr().err == ""


def test_progress_is_shown_where_a_person_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_shown(None)  # pytest captures standard error
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert is_shown(None)
    assert not is_shown(False)
    with ThreadPoolExecutor(1) as pool:
        assert not pool.submit(is_shown, None).result()
    monkeypatch.setattr("multiprocessing.parent_process", lambda: object())
    assert not is_shown(None)
    assert is_shown(True)


@pytest.mark.parametrize(("shell", "expected"), [(SimpleNamespace(kernel=1), True), (1, False)])
def test_progress_is_shown_in_notebooks(
    monkeypatch: pytest.MonkeyPatch, shell: object, expected: bool
) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert is_shown(None) is expected


def test_draws_do_not_depend_on_progress(capsys: pytest.CaptureFixture[str]) -> None:
    rows = datasets.make_block(60, random_state=0, n_groups=1).rows
    found = []
    for shown in (False, True):
        model = slabfield.SpikeSlabMRF(n_draws=50, n_warmup=10, random_state=3, progress=shown)
        found.append(model.fit(rows).posterior_.draws.bias)
        captured = capsys.readouterr()
        assert captured.out == ""
        assert ("4 chains of 50 draws in" in captured.err) == shown
    np.testing.assert_array_equal(*found)


# --- real processes -------------------------------------------------------------------------


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    rows = datasets.make_block(80, random_state=0, n_groups=1).rows
    path = tmp_path / "answers.csv"
    pd.DataFrame(rows, columns=list("abcd")).to_csv(path, index=False)
    return path


def environment() -> dict[str, str]:
    paths = [str(Path(slabfield.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "COLUMNS": "100"}
    return os.environ | variables | {"TERM": "xterm-256color"}


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True, text=True, check=False, timeout=300, env=environment(),
    )  # fmt: skip


def test_results_and_progress_go_to_separate_streams(answers: Path, tmp_path: Path) -> None:
    result = run("fit", answers, "--out", tmp_path / "out", *SHORT)
    assert result.returncode == 1, result.stderr  # 10 draws are too few
    assert "Of 6 possible edges" in result.stdout
    assert "have not converged" in result.stdout
    assert f"slabfield resume {tmp_path / 'out'}" in result.stdout
    assert "chains of 10 draws" not in result.stdout
    assert "4 chains of 10 draws in" in result.stderr
    assert "MB" not in result.stderr
    assert "ConvergenceWarning" not in result.stderr
    posterior = load_posterior(tmp_path / "out" / "posterior.nc")
    for stream in (result.stdout, result.stderr):
        assert str(posterior.convergence.worst) in stream
    assert "\x1b" not in result.stdout + result.stderr
    assert "Resume the run." in result.stderr
    assert "n_draws" not in result.stderr
    assert (tmp_path / "out" / "posterior.nc").exists()


def test_quiet_prints_warnings_only(answers: Path, tmp_path: Path) -> None:
    result = run("fit", answers, "--out", tmp_path / "out", "--quiet", *SHORT)
    assert result.returncode == 1
    assert result.stdout == ""
    assert all(text.startswith("Warning: ") for text in result.stderr.splitlines())


def test_a_run_that_converges_ends_with_0(answers: Path, tmp_path: Path) -> None:
    result = run("fit", answers, "--out", tmp_path / "out", "--seed", 1)
    assert result.returncode == 0, result.stderr
    assert "The chains have converged" in result.stdout
    assert "Warning" not in result.stderr


def test_the_live_table_on_a_terminal(answers: Path, tmp_path: Path) -> None:
    """Run on a pseudo-terminal for standard error, with standard output piped."""
    pty = pytest.importorskip("pty", reason=NO_TERMINAL)
    outer, inner = pty.openpty()
    command = [*COMMAND, "fit", str(answers), "--out", str(tmp_path / "out"), *SHORT]
    command[command.index("10")] = "4000"
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=inner, stdin=inner, env=environment()
    ) as process:
        os.close(inner)
        screen = b""
        end = time.monotonic() + 300
        while time.monotonic() < end:
            ready, _, _ = select.select([outer], [], [], 1.0)
            if not ready:
                continue
            try:
                chunk = os.read(outer, 65536)
            except OSError:  # the other side is closed
                break
            if not chunk:
                break
            screen += chunk
        assert process.stdout is not None
        results = process.stdout.read().decode()
        assert process.wait(timeout=60) in (0, 1)
    os.close(outer)
    shown = screen.decode()
    assert "\x1b[" in shown
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    assert "Per second" in plain
    assert re.search(r"\d+/20 +[\d,]+/4,000", plain)
    assert "R-hat" in plain
    assert "4 chains of 4,000 draws in" in plain
    assert shown.rstrip().count("\x1b[?25h") >= 1  # the cursor is back
    assert "\x1b" not in results
    assert "Of 6 possible edges" in results
