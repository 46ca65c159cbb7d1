// Nodes with levels: levels and thresholds of a node, and the table of a pair. Null if all are binary.

const { levels } = data;
if (levels) {
  edges.coupling_raw = column(data.edges.coupling_raw);
  byId("details").parentElement.classList.add("roomy");
}

const kindText = (k) => `${levels.kind[k]}, ${plural(levels.labels[k].length, "level")}`;

/** A small table: heads of columns, then rows whose first cell names the row. */
function levelTable(caption, heads, rows) {
  // Long labels are cut, and shown in full under the pointer
  const title = (text) => ({ title: text.textContent ?? text });
  const head = heads.map((text) => make("th", { scope: "col", ...title(text) }, text));
  const body = rows.map(([first, ...cells]) => make("tr", {}, make("th", { scope: "row", ...title(first) }, first), ...cells));
  return make("div", { class: "wide-table" }, make("table", { class: "levels", "aria-label": caption },
    make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body)));
}

const percent = (value) => (Number.isNaN(value) ? "\u2013" : `${(100 * value).toFixed(value < 0.1 ? 1 : 0)}%`);

/** Mean and interval of threshold t of node k. */
function thresholdText(k, t) {
  const [mean, lower, upper] = ["mean", "lower", "upper"].map((name) => asNumber(levels[name][k][t]));
  return { title: `95% interval: ${intervalText(lower, upper)}`, text: decimals(mean) };
}

/** The levels of a node, with their shares of the rows and, where each has its own, thresholds. */
function levelDetails(k) {
  const labels = levels.labels[k];
  const free = levels.reference[k] === null;
  const heads = ["Level", ...(levels.share ? ["Share"] : []), ...(free ? ["Threshold"] : [])];
  const rows = labels.map((label, a) => {
    const cells = [named(a === 0 && free ? `${label} (first)` : label)];
    if (levels.share) cells.push(make("td", {}, percent(asNumber(levels.share[k][a]))));
    if (free) {
      const { title, text } = a ? thresholdText(k, a - 1) : { title: "the others are relative to it", text: "0" };
      cells.push(make("td", { title }, text));
    }
    return cells;
  });
  const found = [make("p", { class: "note" }, "Its levels:"), levelTable(`Levels of ${names[k]}`, heads, rows)];
  if (free) return found;
  const at = levels.position[k].indexOf(levels.reference[k]);
  const terms = levels.terms[k].map((term, t) => [term, thresholdText(k, t).text]);
  const from = at < 0 ? `level number ${levels.reference[k] + 1}` : labels[at];
  return [...found, make("p", { class: "note" }, "Log weight, by distance from ", named(from), ":"), factList(terms)];
}

/** Log weights of the levels of a pair: V_i B V_j', with the posterior mean of B given presence. */
function pairTable(e) {
  const [left, right] = [edges.first[e], edges.second[e]].map((k) => levels.embedding[k]);
  const group = data.edges.parameters[e]?.map(asNumber) ?? [edges.coupling_given_presence[e]];
  const n = right[0].length;
  return left.map((v) => right.map((w) => v.reduce((sum, x, r) => sum + w.reduce((part, y, c) => part + x * group[r * n + c] * y, 0), 0)));
}

function pairDetails(e) {
  const table = pairTable(e);
  if (Number.isNaN(table[0][0])) return []; // the edge was never present
  const largest = Math.max(...table.flat().map(Math.abs)) || 1;
  const [first, second] = [edges.first[e], edges.second[e]];
  const rows = table.map((weights, a) => [named(levels.labels[first][a]), ...weights.map((weight) => {
    const cell = make("td", {}, decimals(weight));
    const share = Math.round((45 * Math.abs(weight)) / largest);
    cell.style.background = `color-mix(in srgb, var(${weight < 0 ? "--negative" : "--positive"}) ${share}%, transparent)`;
    return cell;
  })]);
  const caption = `Log weights of the levels of ${edgeName(e)}`;
  return [
    make("p", { class: "note" }, "Log weights, if present, of the levels of ", named(names[first]), " (rows) and ", named(names[second]), ":"),
    levelTable(caption, ["", ...levels.labels[second].map(named)], rows),
  ];
}

/** Odds ratio of a pair with a sign, and its logarithm if a node has more than two levels. */
function oddsRatio(e) {
  if (!levels) return [["odds ratio", decimals(edges.odds_ratio[e])]];
  return [["log odds ratio, adjacent levels", decimals(edges.coupling_raw[e])], ["odds ratio", decimals(edges.odds_ratio[e])]];
}
