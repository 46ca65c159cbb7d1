// The table of edges: sorted, filtered and paginated, so that it stays fast with thousands.

const COLUMNS = [
  { title: "Edge", key: (e) => edgeKeys[e], first: 1 },
  { title: "Inclusion probability", short: "Probability", values: edges.probability, text: probabilityText },
  { title: "Bayes factor", values: edges.factor, kind: "factor" },
  { title: "Evidence", values: edges.factor, kind: "evidence" },
  { title: data.edges.parameters?.some(Boolean) ? "Coupling, or |strength|, if present" : "Coupling if present",
    short: "Coupling", values: edges.coupling_given_presence, kind: "coupling" },
  { title: "95% interval", short: "Interval", values: edges.lower_given_presence, kind: "interval" },
  { title: "R-hat", values: edges.rhat, text: (v) => decimals(v, 3), first: -1 },
  { title: "Effective draws", short: "Eff. draws", values: edges.ess, text: integerText, first: 1 },
];
const edgeKeys = edges.first.map((_, e) => edgeName(e).toLowerCase());
const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

const table = { by: 1, direction: -1, page: 0, found: [] };

/** Missing values come last in both sort directions. */
function compareEdges(a, b) {
  const { values, key } = COLUMNS[table.by];
  if (key) return table.direction * collator.compare(key(a), key(b)) || a - b;
  const [x, y] = [values[a], values[b]];
  if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || a - b;
  if (x !== y) return table.direction * (x < y ? -1 : 1);
  return edges.probability[b] - edges.probability[a] || strengthOf(b) - strengthOf(a) || a - b;
}

function findEdges() {
  const words = byId("search").value.toLowerCase().split(/\s+/u).filter(Boolean);
  const kind = byId("kind").value;
  table.found = [];
  for (let e = 0; e < nEdges; e += 1) {
    const fits = kind === "all" || data.edges.evidence[e] === kind;
    if (fits && words.every((word) => edgeKeys[e].includes(word))) table.found.push(e);
  }
  table.found.sort(compareEdges);
  table.page = 0;
  showPage();
}

function edgeRow(e) {
  const show = make("button", { type: "button", title: "Show in the network" }, named(edgeName(e)));
  show.addEventListener("click", () => {
    network.choose({ edge: e });
    byId("network").scrollIntoView();
  });
  const row = make("tr", { role: "row" }, make("td", { role: "cell" }, show));
  for (const { title, short, values, text, kind } of COLUMNS.slice(1)) {
    const cell = make("td", { role: "cell", "data-label": short ?? title });
    if (kind === "interval") {
      cell.classList.add("interval");
      cell.append(intervalOf(e));
    } else if (kind === "factor") {
      const error = Number.isNaN(edges.mcse[e]) ? {} : { title: errorText(e) };
      cell.append(make("span", error, factorText(edges.factor[e])));
    } else if (kind === "evidence") {
      cell.append(make("span", {}, data.edges.evidence[e]));
    } else if (values === edges.probability) {
      const fill = make("i");
      fill.style.width = `${100 * edges.probability[e]}%`;
      cell.append(make("span", {}, make("span", { class: "bar", "aria-hidden": "true" }, fill), text(values[e])));
    } else if (kind === "coupling") {
      cell.append(make("span", values[e] < 0 ? { class: "minus" } : {}, couplingText(e)));
    } else {
      cell.append(make("span", {}, text(values[e])));
    }
    row.append(cell);
  }
  return row;
}

function showPage() {
  const size = Number(byId("per-page").value);
  const last = Math.max(0, Math.ceil(table.found.length / size) - 1);
  table.page = Math.min(Math.max(table.page, 0), last);
  const begin = table.page * size;
  const rows = table.found.slice(begin, begin + size);
  byId("edge-table").tBodies[0].replaceChildren(...rows.map(edgeRow));
  const nOmitted = data.network.n_edges - nEdges;
  const omitted = nOmitted ? ` (the ${nOmitted.toLocaleString("en-GB")} least probable edges are not in this report)` : "";
  byId("edge-range").textContent = rows.length
    ? `${(begin + 1).toLocaleString("en-GB")} to ${(begin + rows.length).toLocaleString("en-GB")} of ${plural(table.found.length, "edge")}${omitted}`
    : "No edge matches.";
  byId("first-page").disabled = byId("previous-page").disabled = table.page === 0;
  byId("next-page").disabled = byId("last-page").disabled = table.page === last;
}

function showOrder(heads) {
  heads.forEach((head, k) => {
    if (k === table.by) head.setAttribute("aria-sort", table.direction > 0 ? "ascending" : "descending");
    else head.removeAttribute("aria-sort");
  });
}

function startTable() {
  const heads = COLUMNS.map(({ title, first }, k) => {
    const button = make("button", { type: "button" }, title);
    button.addEventListener("click", () => {
      table.direction = table.by === k ? -table.direction : (first ?? -1);
      table.by = k;
      showOrder(heads);
      findEdges();
    });
    return make("th", { scope: "col", role: "columnheader" }, button);
  });
  byId("edge-table").tHead.rows[0].replaceChildren(...heads);
  showOrder(heads);
  const turnPage = { "first-page": () => 0, "previous-page": (p) => p - 1, "next-page": (p) => p + 1, "last-page": () => Infinity };
  for (const [id, to] of Object.entries(turnPage)) {
    byId(id).addEventListener("click", () => {
      table.page = to(table.page);
      showPage();
    });
  }
  if (innerWidth <= 760) byId("per-page").value = "10";
  byId("search").addEventListener("input", oncePerFrame(findEdges));
  byId("kind").addEventListener("change", findEdges);
  byId("per-page").addEventListener("change", findEdges);
  findEdges();
}
