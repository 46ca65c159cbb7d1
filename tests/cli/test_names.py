"""Column names are plain text in all output: never markup, formulas, commands or broken XML."""

import csv
import html.parser
import io
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from slabfield.cli.printing import edge_table
from slabfield.cli.result_files import PictureOptions, write_pictures, write_results
from slabfield.draws import Draws
from slabfield.encoding import code_table
from slabfield.posterior import Posterior
from slabfield.posterior.exports import FORMULA_STARTS, read_edges
from slabfield.validation import InputError

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "=1+1",
    "@SUM(A1)",
    "two\nlines",
    "tab\tbed",
    'it\'s "quoted" & more',
    "n" * 10_000,
    "Größe ☃ 睡眠",
    "\u202egnp.exe\u202c",
    "bell\x07 escape\x1b[31m null\0",
    "$x_1^2$ \\frac{1}{0}",
    "[bold]markup[/bold]",
]


@pytest.fixture(scope="module")
def posterior() -> Posterior:
    rng = np.random.default_rng(0)
    n_nodes = len(HOSTILE)
    n_edges = n_nodes * (n_nodes - 1) // 2
    present = rng.random((4, 50, n_edges)) < 0.6
    coupling = np.where(present, rng.standard_normal(present.shape), 0.0)
    bias = rng.standard_normal((4, 50, n_nodes))
    p0, sigma0, potential = (rng.random((4, 50)) for _ in range(3))
    draws = Draws.from_dense(coupling, present, bias, p0, sigma0, potential)
    settings = {"engine": "exact", "n_rows": 50, "seed": 1, "n_chains": 4}
    settings["inclusion_prior"] = {"a": 5.0, "b": 5.0, "edges": None}
    return Posterior(draws, HOSTILE, settings, [{} for _ in range(4)])


@pytest.fixture(scope="module")
def folder(posterior: Posterior, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("results")
    write_results(posterior, posterior.to_dataframe(), out)
    posterior.write_gexf(out / "network.gexf")
    return out


def test_a_lone_surrogate_in_a_name_is_refused() -> None:
    table = pd.DataFrame([[0, 1], [1, 0]], columns=pd.Index(["a", "\ud800"], dtype=object))
    with pytest.raises(InputError, match=r"unpaired surrogates in '\\ud800'"):
        code_table(table)


class Tags(html.parser.HTMLParser):
    """Collects the elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def test_no_name_becomes_an_element_of_the_report(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(page)
    assert not [attrs for _, attrs in tags.seen if any(name.startswith("on") for name in attrs)]
    assert not [attrs for tag, attrs in tags.seen if tag == "img" and attrs.get("src") == "x"]
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_no_field_of_the_table_is_a_formula_and_names_are_read_back(folder: Path) -> None:
    with open(folder / "edges.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    names = {name for row in rows[1:] for name in row[:2]}
    assert len(names) == len(HOSTILE)
    assert not [name for name in names if name.startswith(FORMULA_STARTS)]
    again = set(read_edges(folder / "edges.csv")["node_1"])
    assert {"=1+1", "@SUM(A1)", "two\nlines"} <= again


@pytest.mark.parametrize("form", ["graphml", "gexf"])
def test_graph_files_are_valid_xml(folder: Path, form: str) -> None:
    path = folder / f"network.{form}"
    tree = ElementTree.parse(path)
    nodes = [node for node in tree.iter() if node.tag.endswith("}node")]
    assert len(nodes) == len(HOSTILE)
    assert len({node.get("id") for node in nodes}) == len(HOSTILE)
    assert "\x1b" not in path.read_text(encoding="utf-8")


def test_the_network_is_plotted(folder: Path) -> None:
    assert (folder / "network.png").stat().st_size > 10_000


def test_plots_take_hostile_names(posterior: Posterior, tmp_path: Path) -> None:
    for picture in write_pictures(posterior, tmp_path, PictureOptions(dpi=50)):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")


def test_the_terminal_gets_plain_text_only(posterior: Posterior) -> None:
    target = io.StringIO()
    console = Console(file=target, force_terminal=False, width=100)
    console.print(edge_table(posterior.to_dataframe(), 100, console.width))
    printed = target.getvalue()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", printed)
    assert "[bold]" in printed
