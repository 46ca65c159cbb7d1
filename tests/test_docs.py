"""Every code block of the README and of the site runs, and the site says what the code says.

A block in Python runs after those before it on its page; in a block in bash every line that begins
with `slabfield` runs through the command line, on a table `answers.csv` and the folder `results`
that the five-minute start makes. Other blocks, and those that cannot run in a test, need a comment
before them that says why: `<!-- not run: ... -->`. Blocks of text are what programs print.
"""

import ast
import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from string import Formatter
from typing import NamedTuple

import matplotlib as mpl
import pytest
from typer.testing import CliRunner

import slabfield
from skips import NEEDS_DATA

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^( *)```+ *(\w*)[^\n]*\n(.*?)^\1```+ *$", flags=re.DOTALL | re.MULTILINE)
NOT_RUN = re.compile(r"<!-- not run: [^>]+ -->\s*$")
SNIPPET = '--8<-- "examples/'


class Block(NamedTuple):
    language: str
    code: str
    line: int
    excused: bool


def blocks_of(page: str) -> list[Block]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(
            found[2],
            found[3],
            text.count("\n", 0, found.start()) + 1,
            NOT_RUN.search(text, 0, found.start()) is not None,
        )
        for found in FENCE.finditer(text)
    ]


def run_python(block: Block, page: str, names: dict[str, object]) -> None:
    padding = "\n" * block.line  # so that a traceback shows the line of the page
    exec(compile(padding + block.code, str(ROOT / page), "exec"), names)


def run_bash(block: Block, page: str) -> None:
    from slabfield.cli.app import app

    for line in block.code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if not words:
            continue
        assert words[0] == "slabfield", f"{page}: '{line}' is no command of slabfield"
        result = CliRunner().invoke(app, words[1:])
        assert result.exit_code == 0, f"{page}: {line}\n{result.output}\n{result.exception!r}"


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the first blocks of the five-minute start leave: a table, and results."""
    folder = tmp_path_factory.mktemp("started")
    python, bash = [block for block in blocks_of("docs/start.md") if not block.excused][:2]
    before = Path.cwd()
    os.chdir(folder)
    try:
        run_python(python, "docs/start.md", {})
        run_bash(bash, "docs/start.md")
    finally:
        os.chdir(before)
    return folder


@pytest.mark.parametrize("page", PAGES)
def test_every_block_runs(
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    blocks = [block for block in blocks_of(page) if not block.excused and block.language != "text"]
    if not any(block.language in ("python", "bash") for block in blocks):
        assert blocks == []
        return
    folder = request.getfixturevalue("started")
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with mpl.rc_context({"backend": "agg"}):
        for block in blocks:
            if SNIPPET in block.code:
                continue  # examples have a test of their own
            if block.language == "bash":
                run_bash(block, page)
            else:
                assert block.language == "python", f"{page}, line {block.line}: cannot be run"
                run_python(block, page, names)


def test_blocks_are_found_and_their_faults_seen(tmp_path: Path) -> None:
    """The finder and the runner can fail."""
    page = tmp_path / "page.md"
    page.write_text(
        "```python\n1 / 0\n```\n\n<!-- not run: why -->\n```r\nfit\n```\n\n"
        "- a\n\n    ```bash\n    slabfield no-such\n    ```\n"
    )
    python, other, bash = blocks_of(str(page))
    assert (python.language, python.excused, other.excused) == ("python", False, True)
    with pytest.raises(ZeroDivisionError):
        run_python(python, str(page), {})
    with pytest.raises(AssertionError, match="no-such"):
        run_bash(bash, str(page))
    with pytest.raises(AssertionError, match="no command of slabfield"):
        run_bash(Block("bash", "rm x", 1, False), str(page))


def test_no_block_is_hidden_by_indenting() -> None:
    """A code block without a fence has no language, and would not be run."""
    for page in PAGES:
        text = FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))
        assert re.findall(r"\n\n {4}(?![*+-] |\d+\. )\S.*", text) == [], page


EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))


def run_example(example: str, folder: Path, **variables: str) -> str:
    """Run a program of the gallery with few draws, warnings being errors; what it prints."""
    settings = {"SLABFIELD_DRAWS": "50", "MPLBACKEND": "agg", "PYTHONPATH": str(ROOT / "src")}
    others = {name: value for name, value in os.environ.items() if name != "SLABFIELD_DATA"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", "ignore:The chains have not converged",
         ROOT / "examples" / example],
        cwd=folder, env=others | settings | variables, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (folder / example).with_suffix(".png").stat().st_size > 2_000
    return done.stdout


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs_without_further_data(example: str, tmp_path: Path) -> None:
    source = (ROOT / "examples" / example).read_text(encoding="utf-8")
    assert len(source.splitlines()) < 40
    output = run_example(example, tmp_path)
    assert ("simulated" in output) == ("SLABFIELD_DATA" in source)


@NEEDS_DATA
def test_the_edges_that_the_gallery_names_are_found(tmp_path: Path) -> None:
    output = run_example("symptoms.py", tmp_path, SLABFIELD_DATA=os.environ["SLABFIELD_DATA"])
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| (\w+) - (\w+): ", page, flags=re.MULTILINE)
    assert len(named) == 7
    missing = [pair for pair in named if not re.search(rf"{pair[0]} +{pair[1]} ", output)]
    assert missing == []


def test_every_example_is_in_the_gallery_with_its_picture() -> None:
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert EXAMPLES
    for example in EXAMPLES:
        assert f'{SNIPPET}{example}"' in page
        picture = Path("images") / "gallery" / f"{Path(example).stem}.png"
        assert str(picture) in page
        assert (ROOT / "docs" / picture).exists()


WARNING_SOURCES = {"posterior/diagnostics.py": "Message", "chains/parallel.py": "Unfit"}


def texts_of_warnings() -> list[str]:
    """The longest part without fields of every text that `Posterior.warnings` can hold."""
    found = []
    for file, made_by in WARNING_SOURCES.items():
        tree = ast.parse((ROOT / "src" / "slabfield" / file).read_text(encoding="utf-8"))
        found += [
            _longest_text(node)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == made_by
        ]
    return found


def _longest_text(call: ast.Call) -> str:
    texts = [n.value for a in call.args for n in ast.walk(a) if isinstance(n, ast.Constant)]
    parts = [part for t in texts if isinstance(t, str) for part, *_ in Formatter().parse(t)]
    return max((part.strip() for part in parts), key=len)


def test_every_warning_is_on_the_page_about_diagnosing() -> None:
    page = (ROOT / "docs" / "diagnosing.md").read_text(encoding="utf-8")
    said = " ".join(re.sub(r"^> ?", "", page, flags=re.MULTILINE).split())
    texts = texts_of_warnings()
    assert len(texts) >= 12
    missing = [text for text in texts if text not in said]
    assert missing == []


PUBLIC = ("slabfield", *(f"slabfield.{part}" for part in slabfield._MODULES))


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_has_an_example(module: str) -> None:
    exported = import_module(module)
    documented = {name: getattr(exported, name) for name in exported.__all__}
    lacking = [
        name
        for name, value in documented.items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        and ">>>" not in (inspect.getdoc(value) or "")
    ]
    assert documented
    assert lacking == []
