// Whether to trust the run: figures of the whole, what holds out, and traces.

const { convergence } = data;

const settledText = (settled) =>
  make("span", { class: settled ? "fine" : "flag" }, settled ? "\u2713 settled" : "\u2717 not settled");

/** A row for each list of cells; the first cell says what the row is about. */
function figureTable(caption, heads, rows) {
  const head = heads.map((text) => make("th", { scope: "col", role: "columnheader" }, text));
  const body = rows.map((cells) =>
    make("tr", { role: "row" }, ...cells.map((cell, k) => make("td", { role: "cell", "data-label": heads[k] }, cell))));
  return make("table", { class: "stack figures", role: "table", "aria-label": caption },
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...head)),
    make("tbody", { role: "rowgroup" }, ...body));
}

function wholeRow(part) {
  return [
    make("span", {}, make("b", {}, part.name), ` \u2013 ${part.about}`),
    significant(asNumber(part.mean)),
    `${significant(asNumber(part.lower))} to ${significant(asNumber(part.upper))}`,
    decimals(asNumber(part.rhat), 3),
    wholeText(asNumber(part.ess)),
    part.fixed ? "fixed" : settledText(part.settled),
  ];
}

function significant(value) {
  if (Number.isNaN(value)) return "\u2013";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-GB").replace("-", "\u2212");
  return decimals(value, Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 10 ? 2 : 3);
}

const judged = ({ rhat, ess, settled }) =>
  [decimals(asNumber(rhat), 3), wholeText(asNumber(ess)), settledText(settled)];
const heldEdge = (part) =>
  [named(`${names[part.first]} \u2013 ${names[part.second]}`), probabilityText(part.probability), ...judged(part)];
const heldBias = (part) => [named(names[part.node]), ...judged({ ...part, settled: false })];

function startConvergence() {
  const place = byId("convergence-tables");
  const { rhat, ess } = convergence.limits;
  place.append(make("h3", {}, "The graph as a whole"),
    figureTable("The graph as a whole", ["What", "Mean", "95% interval", "R-hat", "Effective draws", "State"], convergence.whole.map(wholeRow)));
  place.append(make("h3", {}, "Edges with the fewest effective draws"));
  if (convergence.worst.length) {
    const held = convergence.worst.filter((part) => !part.settled).length;
    place.append(make("p", { class: "note" }, held
      ? `Those not settled have fewer than ${ess} effective draws, or R-hat above ${rhat}: their probabilities are rough.`
      : `All undecided edges have R-hat below ${rhat} and at least ${ess} effective draws.`));
    place.append(figureTable("Edges with the fewest effective draws",
      ["Edge", "Inclusion probability", "R-hat", "Effective draws", "State"], convergence.worst.map(heldEdge)));
  } else {
    place.append(make("p", { class: "note" }, "No edge came and went often enough to be judged: every one was nearly always there, or nearly never."));
  }
  if (convergence.biases.length) {
    place.append(make("h3", {}, "Biases that have not settled"),
      figureTable("Biases that have not settled", ["Node", "R-hat", "Effective draws", "State"], convergence.biases.map(heldBias)));
  }
  drawTraces();
}

function drawTraces() {
  const [width, height] = [600, 110];
  byId("traces").replaceChildren(...convergence.traces.map(({ name, chains }) => {
    const series = chains.map((values) => values.map(asNumber));
    const all = series.flat().filter(Number.isFinite);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const reach = high - low || 1;
    const lines = series.map((values, k) => {
      const step = width / Math.max(1, values.length - 1);
      const points = values.map((v, t) => `${(t * step).toFixed(1)},${(height - 6 - ((v - low) / reach) * (height - 12)).toFixed(1)}`);
      return shape("polyline", { class: `chain-${k % 8}`, points: points.join(" ") });
    });
    const box = shape("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img",
      "aria-label": `Traces of ${name}, ${plural(chains.length, "chain")}` }, ...lines);
    const ends = make("p", { class: "ends" }, make("span", {}, "first draw"),
      make("span", {}, `from ${significant(low)} to ${significant(high)}`), make("span", {}, "last draw"));
    return make("div", { class: "trace" }, make("h4", {}, name), box, ends);
  }));
  const first = convergence.traces[0].chains;
  byId("chains-key").replaceChildren(...first.slice(0, 8).map((_, k) => make("span", {},
    shape("svg", { viewBox: "0 0 34 12", "aria-hidden": "true" }, shape("line", { class: `chain-${k}`, x1: 0, x2: 34, y1: 6, y2: 6, "stroke-width": 2.5 })),
    `chain ${k + 1}`)));
}
