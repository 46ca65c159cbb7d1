"""The report in headless Chromium: what it shows, how it responds, and that it is safe."""

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import numpy as np
import pytest

from made_up_posteriors import make_up_levels
from report_helpers import HOSTILE, made_up
from skips import CHROMIUM, DRIVER, NEEDS_BROWSER, require
from slabfield import Posterior
from slabfield.encoding import Variable
from slabfield.posterior.evidence_classes import count_classes
from slabfield.report import write_report

webdriver = require("selenium.webdriver")
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select  # noqa: E402

pytestmark = NEEDS_BROWSER

ARGUMENTS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-default-apps", "--disable-sync", "--disable-extensions",
)  # fmt: skip


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    # The browser may still write to its folder while it is removed
    folder = TemporaryDirectory(prefix="slabfield-chromium-", ignore_cleanup_errors=True)
    for argument in (*ARGUMENTS, f"--user-data-dir={folder.name}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(60)
    try:
        yield driver
    finally:
        driver.quit()
        folder.cleanup()


Opener = Callable[..., Any]


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Opener:
    """Open the report of a posterior in a window of a given size and color scheme."""

    def open_report(
        posterior: Posterior, width: int = 1200, height: int = 900, dark: bool = False
    ) -> Any:
        path = tmp_path / "report.html"
        write_report(posterior, path)
        return open_page(chromium, path, width, height, dark)

    return open_report


def open_page(
    driver: Any, path: Path, width: int = 1200, height: int = 900, dark: bool = False
) -> Any:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    driver.get("about:blank")
    driver.get_log("browser")
    driver.get_log("performance")
    driver.get(path.as_uri())
    wait_until_drawn(driver)
    return driver


def wait_until_drawn(driver: Any) -> None:
    """Wait until the page has finished drawing."""
    driver.execute_async_script(
        "const done = arguments[0];"
        "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0)));"
    )


def find(driver: Any, selector: str) -> Any:
    return driver.find_element(By.CSS_SELECTOR, selector)


def texts(driver: Any, selector: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
    found: list[str] = driver.execute_script(script, selector)
    return found


def set_value(driver: Any, selector: str, value: float) -> None:
    driver.execute_script(
        "const [element, value] = arguments; element.value = value;"
        "element.dispatchEvent(new Event('input', {bubbles: true}));"
        "element.dispatchEvent(new Event('change', {bubbles: true}));",
        find(driver, selector),
        str(value),
    )
    wait_until_drawn(driver)


def n_lines(driver: Any) -> int:
    return len(texts(driver, "#network-links path"))


def requests(driver: Any) -> list[str]:
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [params["request"]["url"] for params in sent]


def active(driver: Any) -> str:
    script = (
        "const e = document.activeElement;"
        "return e.id || e.getAttribute('aria-label') || e.textContent.trim();"
    )
    return str(driver.execute_script(script))


def press(driver: Any, *keys: str) -> None:
    ActionChains(driver).send_keys(*keys).perform()
    wait_until_drawn(driver)


def test_it_loads_without_errors_and_without_requests(opened: Opener, tmp_path: Path) -> None:
    driver = opened(made_up(12))
    assert driver.get_log("browser") == []
    sent = [url for url in requests(driver) if url != "data:,"]  # the empty icon
    assert sent == [(tmp_path / "report.html").as_uri()]
    assert "12 nodes" in texts(driver, ".subtitle")[0]


class Recording(BaseHTTPRequestHandler):
    """A server that records the requested paths."""

    requested: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.requested.append(self.path)
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Recording) as recording:
        thread = Thread(target=recording.serve_forever)
        thread.start()
        yield recording
        recording.shutdown()
        thread.join()


def test_even_an_image_put_into_the_page_is_not_loaded(
    opened: Opener, tmp_path: Path, server: ThreadingHTTPServer
) -> None:
    driver = opened(made_up(4))
    image = f'<img src="http://127.0.0.1:{server.server_port}/image.png">'
    text = (tmp_path / "report.html").read_text("utf-8").replace("</main>", f"{image}</main>")
    (tmp_path / "with.html").write_text(text, "utf-8")
    open_page(driver, tmp_path / "with.html")
    assert any("Content Security Policy" in entry["message"] for entry in driver.get_log("browser"))
    assert Recording.requested == []
    # The test can fail: without the policy the image is requested
    (tmp_path / "without.html").write_text(text.replace("Content-Security-Policy", ""), "utf-8")
    open_page(driver, tmp_path / "without.html")
    assert "/image.png" in Recording.requested


def test_the_slider_shows_just_the_edges_at_or_above_the_threshold(opened: Opener) -> None:
    posterior = made_up(12)
    driver = opened(posterior)
    places = (
        "return [...document.querySelectorAll('.node')].map((e) => e.getAttribute('transform'))"
    )
    before = driver.execute_script(places)
    assert 0.5 in posterior.edge_probability
    counts = []
    for threshold in (0.01, 0.3, 0.5, 0.51, 0.9, 1):
        set_value(driver, "#threshold", threshold)
        expected = int(np.sum(posterior.edge_probability >= threshold))
        assert n_lines(driver) == expected, threshold
        assert texts(driver, "#shown")[0].startswith(f"{expected} edge")
        assert driver.execute_script(places) == before
        counts.append(expected)
    assert len(set(counts)) == 6
    set_value(driver, "#threshold-number", 0.123)
    assert n_lines(driver) == np.sum(posterior.edge_probability >= 0.123)


def test_the_slider_listens_to_keys(opened: Opener) -> None:
    posterior = made_up(12)
    driver = opened(posterior)
    set_value(driver, "#threshold", 0.5)
    find(driver, "#threshold").send_keys(Keys.ARROW_RIGHT)
    wait_until_drawn(driver)
    assert find(driver, "#threshold-number").get_attribute("value") == "0.51"
    assert n_lines(driver) == np.sum(posterior.edge_probability >= 0.51)
    set_value(driver, "#threshold", 0.01)
    set_value(driver, "#weakest", 1.5)
    strong = np.abs(np.nan_to_num(posterior.edge_mean)) >= 1.5
    assert n_lines(driver) == np.sum(strong & (posterior.edge_probability >= 0.01))


def test_lines_show_sign_and_probability(opened: Opener) -> None:
    posterior = made_up(6)
    driver = opened(posterior)
    set_value(driver, "#threshold", 0.01)
    lines = driver.execute_script(
        "return [...document.querySelectorAll('#network-links path')].map((e) => ["
        "e.classList.contains('negative'), e.hasAttribute('stroke-dasharray'),"
        "getComputedStyle(e).stroke, Number(e.getAttribute('stroke-opacity'))])"
    )
    shown = posterior.edge_probability >= 0.01
    order = np.argsort(posterior.edge_probability[shown], kind="stable")
    negative = (posterior.edge_mean[shown] < 0)[order]
    assert [line[0] for line in lines] == negative.tolist()
    assert [line[1] for line in lines] == negative.tolist()
    assert len({line[2] for line in lines}) == 2
    opacity = [line[3] for line in lines]
    assert opacity == sorted(opacity)
    assert opacity[0] < opacity[-1]


def test_the_table_sorts(opened: Opener) -> None:
    posterior = made_up(12)
    driver = opened(posterior)
    table = posterior.to_dataframe()
    edge = (table["node_1"] + " – " + table["node_2"]).tolist()  # noqa: RUF001
    first_column = "#edge-table tbody td:first-child"
    assert len(texts(driver, first_column)) == 20
    assert texts(driver, first_column) == edge[:20]
    heading = driver.find_elements(By.CSS_SELECTOR, "#edge-table th button")[4]
    for direction, ascending in (("descending", False), ("ascending", True)):
        heading.click()
        wait_until_drawn(driver)
        by_mean = table.sort_values(
            "coupling_given_presence", ascending=ascending, na_position="last"
        )
        expected = [edge[k] for k in by_mean.index]
        assert texts(driver, first_column) == expected[:20]
        head = driver.find_elements(By.CSS_SELECTOR, "#edge-table th")[4]
        assert head.get_attribute("aria-sort") == direction
    find(driver, "#last-page").click()
    wait_until_drawn(driver)
    assert texts(driver, first_column) == expected[60:]
    assert texts(driver, "#edge-table tbody tr:last-child td:nth-child(5)") == ["–"]  # noqa: RUF001


def test_the_table_filters(opened: Opener) -> None:
    posterior = made_up(12)
    driver = opened(posterior)
    find(driver, "#search").send_keys("ITEM 11")
    wait_until_drawn(driver)
    assert "of 11 edges" in texts(driver, "#edge-range")[0]
    assert all("item 11" in text for text in texts(driver, "#edge-table tbody td:first-child"))
    find(driver, "#search").clear()
    find(driver, "#search").send_keys("nothing like it")
    wait_until_drawn(driver)
    assert texts(driver, "#edge-range") == ["No edge matches."]
    set_value(driver, "#search", "")  # type: ignore[arg-type]
    counts = count_classes(posterior.edge_bayes_factor)
    assert counts["strong for"] > 1
    assert counts["inconclusive"] > 1
    assert counts["strong against"] > 1
    for kind in ("strong for", "inconclusive", "strong against"):
        count = counts[kind]
        Select(find(driver, "#kind")).select_by_value(kind)
        wait_until_drawn(driver)
        assert f"of {count} edges" in texts(driver, "#edge-range")[0]


def test_a_row_leads_to_its_edge_in_the_network(opened: Opener) -> None:
    driver = opened(made_up(12))
    name = texts(driver, "#edge-table tbody td:first-child")[2]
    driver.find_elements(By.CSS_SELECTOR, "#edge-table tbody button")[2].click()
    wait_until_drawn(driver)
    assert texts(driver, "#details h3") == [name]
    assert len(texts(driver, "#network-strong path")) == 1


def test_every_control_is_reached_by_keyboard(opened: Opener) -> None:
    driver = opened(made_up(12))
    reached = []
    for _ in range(70):
        press(driver, Keys.TAB)
        reached.append(active(driver))
        if reached[-1] == "matrix-picture":
            break
    wanted = [
        *("Summary", "threshold", "threshold-number", "weakest", "Node item 0", "search", "kind"),
        *("per-page", "Edge", "Effective draws", "next-page", "matrix-order", "matrix-picture"),
    ]
    assert [name for name in reached if name in wanted] == wanted
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert driver.execute_script(outline) == "solid"
    press(driver, Keys.ARROW_RIGHT)
    press(driver, Keys.ARROW_DOWN)
    assert "item" in texts(driver, "#matrix-cell")[0]


def test_arrow_keys_move_between_nodes_and_show_details(opened: Opener) -> None:
    driver = opened(made_up(12))
    driver.execute_script("document.getElementById('weakest').focus()")
    press(driver, Keys.TAB)
    assert texts(driver, "#details h3") == ["item 0"]
    seen = {active(driver)}
    for key in (Keys.ARROW_LEFT, Keys.ARROW_RIGHT, Keys.ARROW_UP, Keys.ARROW_DOWN) * 2:
        press(driver, key)
        seen.add(active(driver))
        assert active(driver) == f"Node {texts(driver, '#details h3')[0]}"
    assert len(seen) > 2
    press(driver, Keys.ESCAPE)
    assert texts(driver, "#details h3") == []


def test_the_tooltip_describes_nodes_and_edges(opened: Opener) -> None:
    posterior = made_up(2)
    driver = opened(posterior)
    set_value(driver, "#threshold", 0.01)
    picture = find(driver, "#network-picture")
    driver.execute_script("document.getElementById('network').scrollIntoView()")
    ActionChains(driver).move_to_element(picture).perform()
    wait_until_drawn(driver)
    tip = texts(driver, "#tip")[0]
    assert tip.startswith("item 0 – item 1")  # noqa: RUF001
    assert f"inclusion probability {posterior.edge_probability[0]:.3f}" in tip
    ActionChains(driver).move_to_element(find(driver, ".node")).perform()
    wait_until_drawn(driver)
    assert texts(driver, "#tip")[0].startswith("item 0")
    assert "bias" in texts(driver, "#tip")[0]


def test_hostile_names_are_inert_text(opened: Opener) -> None:
    driver = opened(made_up(len(HOSTILE), names=HOSTILE, certain=True), height=2000)
    for row in driver.find_elements(By.CSS_SELECTOR, "#edge-table tbody button")[:8]:
        row.click()
    for k in range(len(HOSTILE)):
        driver.execute_script("document.querySelectorAll('.node')[arguments[0]].focus()", k)
        wait_until_drawn(driver)
        assert texts(driver, "#details h3") == [HOSTILE[k]]
    ActionChains(driver).move_to_element(find(driver, ".node")).perform()
    find(driver, "#matrix-picture").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    wait_until_drawn(driver)
    assert driver.get_log("browser") == []
    assert driver.execute_script("return typeof window.hacked") == "undefined"
    assert texts(driver, "img, main script, table i:not(.bar i)") == []
    shown = " ".join(texts(driver, "#edge-table tbody td:first-child"))
    assert all(name in shown for name in HOSTILE)
    summary = " ".join(texts(driver, "#summary p"))
    assert all(name in summary for name in HOSTILE[:5])
    assert HOSTILE[0][:15] in " ".join(texts(driver, "#network-nodes text"))


@pytest.mark.parametrize("width", [320, 390])
@pytest.mark.parametrize("names", [None, HOSTILE], ids=["short", "long"])
def test_a_phone_needs_no_scrolling_sideways(
    opened: Opener, width: int, names: list[str] | None
) -> None:
    driver = opened(made_up(len(HOSTILE), names=names, n_draws=20), width=width, height=800)
    root = "return document.documentElement.scrollWidth"
    assert driver.execute_script(root) <= width
    assert driver.execute_script("return innerWidth") == width
    # No element of the main part may extend beyond the window
    outside = driver.execute_script(
        "return [...document.querySelectorAll('main *')].filter((e) => {"
        "const box = e.getBoundingClientRect();"
        "return box.width > 0 && (box.right > innerWidth + 1 || box.left < -1)"
        "}).map((e) => e.outerHTML.slice(0, 80))"
    )
    assert outside == []


def test_a_hundred_nodes_stay_usable(opened: Opener) -> None:
    posterior = made_up(100, n_chains=2, n_draws=40)
    driver = opened(posterior)
    assert driver.get_log("browser") == []
    assert len(texts(driver, "#edge-table tbody tr")) == 20
    set_value(driver, "#threshold", 0.01)
    assert n_lines(driver) == np.sum(posterior.edge_probability >= 0.01)
    took = driver.execute_script(
        "const begin = performance.now();"
        "document.querySelectorAll('#edge-table th button')[3].click();"
        "return performance.now() - begin"
    )
    assert took < 2000
    assert "of 4,950 edges" in texts(driver, "#edge-range")[0]


def test_dark_is_dark_and_print_is_light(opened: Opener) -> None:
    back = (
        "return getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).slice(0, 3)"
        ".map(Number).reduce((a, b) => a + b)"
    )
    assert opened(made_up(4)).execute_script(back) > 600
    driver = opened(made_up(4), dark=True)
    assert driver.execute_script(back) < 150
    driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert driver.execute_script(back) > 600
    driver.execute_script("dispatchEvent(new Event('afterprint'))")
    assert driver.execute_script(back) < 150


def test_a_run_that_never_moved_has_a_page_without_errors(opened: Opener) -> None:
    for posterior in (made_up(2, n_chains=1, n_draws=1), made_up(3, certain=True, n_chains=1)):
        driver = opened(posterior)
        assert driver.get_log("browser") == []
        assert len(texts(driver, "#traces svg")) == 4


# --- nodes with levels ------------------------------------------------------------------------


def focus_node(driver: Any, name: str) -> None:
    mark = find(driver, f'#network-nodes [aria-label="Node {name}"]')
    driver.execute_script("arguments[0].focus()", mark)
    wait_until_drawn(driver)


def show_edge(driver: Any, name: str) -> None:
    """Select an edge in the table, which shows it in the network."""
    (button,) = [
        button
        for button in driver.find_elements(By.CSS_SELECTOR, "#edge-table tbody button")
        if button.text == name
    ]
    driver.execute_script("arguments[0].click()", button)
    wait_until_drawn(driver)


def table_of(driver: Any, selector: str) -> list[list[str]]:
    script = (
        "return [...document.querySelector(arguments[0]).rows]"
        ".map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    found: list[list[str]] = driver.execute_script(script, selector)
    return found


def test_levels_of_a_node(opened: Opener) -> None:
    posterior = make_up_levels()
    driver = opened(posterior)
    assert driver.get_log("browser") == []
    focus_node(driver, "worry")
    thresholds = posterior.thresholds().set_index(["node", "level"])["mean"]
    shown = [f"{thresholds['worry', level]:.2f}" for level in ("rarely", "often")]
    assert table_of(driver, "#details .levels") == [
        ["Level", "Share", "Threshold"],
        ["never (first)", "33%", "0"],
        ["rarely", "33%", shown[0].replace("-", "\u2212")],
        ["often", "33%", shown[1].replace("-", "\u2212")],
    ]
    assert "ordinal, 3 levels" in find(driver, "#details").text
    focus_node(driver, "opinion")
    assert len(table_of(driver, "#details .levels")) == 6
    details = find(driver, "#details").text
    assert "by distance from 0" in details
    assert "quadratic" in details
    assert "bias" not in details


def test_the_table_of_a_pair(opened: Opener) -> None:
    posterior = make_up_levels()
    driver = opened(posterior)
    for pair in (("place", "work"), ("mood", "work"), ("worry", "opinion")):
        show_edge(driver, " \u2013 ".join(pair))
        expected = posterior.interaction_table(*pair)
        heads, *rows = table_of(driver, "#details .levels")
        assert heads == ["", *expected.columns]
        assert [row[0] for row in rows] == list(expected.index)
        shown = [[float(cell.replace("\u2212", "-")) for cell in row[1:]] for row in rows]
        np.testing.assert_allclose(shown, expected, atol=0.0051)
    show_edge(driver, "sleep \u2013 worry")  # never present
    assert texts(driver, "#details .levels") == []
    assert driver.get_log("browser") == []


def test_strengths_have_no_sign(opened: Opener) -> None:
    posterior = make_up_levels()
    driver = opened(posterior)
    set_value(driver, "#threshold-number", 0.1)
    drawn, signed = posterior.edge_probability >= 0.1, posterior.edge_is_signed
    assert len(texts(driver, "#network-links .unsigned")) == np.sum(drawn & ~signed)
    negative = np.nan_to_num(posterior.edge_mean) < 0
    assert len(texts(driver, "#network-links .negative")) == np.sum(drawn & signed & negative)
    assert "without sign" in find(driver, "#network-key").text
    assert "|2.89|" in find(driver, "#edge-table").text
    show_edge(driver, "place \u2013 work")
    details = find(driver, "#details").text
    assert "strength if present\n|2.89|" in details
    assert "odds ratio" not in details
    show_edge(driver, "worry \u2013 opinion")
    raw = posterior.coupling_raw[2, 3]
    assert f"log odds ratio, adjacent levels\n\u2212{-raw:.2f}" in find(driver, "#details").text


def test_thresholds_that_have_not_converged_are_named(opened: Opener) -> None:
    posterior = make_up_levels()
    posterior.draws.bias[0, :, 13] += 5
    driver = opened(posterior)
    assert "Thresholds that have not converged" in find(driver, "#convergence").text
    assert "work[none]" in find(driver, "#convergence-tables").text
    assert "sigma0_nominal" in find(driver, "#convergence-tables").text


def test_a_table_of_many_levels_stays_within_its_panel(opened: Opener) -> None:
    labels = tuple(f"a rather long label number {k}" for k in range(12))
    nodes = [Variable(name, "nominal", labels, ()) for name in ("place", "work")]
    driver = opened(make_up_levels(nodes, n_draws=20), width=400, height=800)
    show_edge(driver, "place \u2013 work")
    assert len(table_of(driver, "#details .levels")) == 13
    wider = driver.execute_script(
        "return document.documentElement.scrollWidth > document.documentElement.clientWidth"
    )
    assert not wider
