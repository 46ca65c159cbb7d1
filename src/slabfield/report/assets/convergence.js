// Convergence: diagnostics of global quantities, unconverged edges and biases, and traces.

const { convergence } = data;

const convergedText = (converged) =>
  make("span", { class: converged ? "fine" : "flag" }, converged ? "\u2713 converged" : "\u2717 not converged");

/** A table with one row for each list of cells; the first cell names the row. */
function diagnosticTable(caption, heads, rows) {
  const head = heads.map((text) => make("th", { scope: "col", role: "columnheader" }, text));
  const body = rows.map((cells) =>
    make("tr", { role: "row" }, ...cells.map((cell, k) => make("td", { role: "cell", "data-label": heads[k] }, cell))));
  return make("table", { class: "stack figures", role: "table", "aria-label": caption },
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, ...head)),
    make("tbody", { role: "rowgroup" }, ...body));
}

function globalRow(part) {
  return [
    make("span", {}, make("b", {}, part.name), ` \u2013 ${part.about}`),
    significant(asNumber(part.mean)),
    `${significant(asNumber(part.lower))} to ${significant(asNumber(part.upper))}`,
    decimals(asNumber(part.rhat), 3),
    integerText(asNumber(part.ess)),
    part.fixed ? "fixed" : convergedText(part.converged),
  ];
}

function significant(value) {
  if (Number.isNaN(value)) return "\u2013";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en-GB").replace("-", "\u2212");
  return decimals(value, Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 10 ? 2 : 3);
}

const diagnosticCells = ({ rhat, ess, converged }) =>
  [decimals(asNumber(rhat), 3), integerText(asNumber(ess)), convergedText(converged)];
const edgeCells = (part) =>
  [named(`${names[part.first]} \u2013 ${names[part.second]}`), probabilityText(part.probability), ...diagnosticCells(part)];
const biasCells = (part) => [named(part.name), ...diagnosticCells({ ...part, converged: false })];

function startConvergence() {
  const place = byId("convergence-tables");
  const { rhat, ess, error } = convergence.limits;
  place.append(make("h3", {}, "The graph as a whole"),
    diagnosticTable("The graph as a whole", ["Quantity", "Mean", "95% interval", "R-hat", "Effective draws", "State"], convergence.global.map(globalRow)));
  place.append(make("h3", {}, "Edges with the fewest effective draws"));
  if (convergence.worst.length) {
    const unconverged = convergence.worst.filter((part) => !part.converged).length;
    place.append(make("p", { class: "note" }, unconverged
      ? `Edges that have not converged have fewer than ${ess} effective draws, R-hat above ${rhat}, or an inclusion probability whose Monte Carlo standard error is above ${error}: their probabilities are imprecise.`
      : `All undecided edges have R-hat below ${rhat} and at least ${ess} effective draws; no inclusion probability has a Monte Carlo standard error above ${error}.`));
    place.append(diagnosticTable("Edges with the fewest effective draws",
      ["Edge", "Inclusion probability", "R-hat", "Effective draws", "State"], convergence.worst.map(edgeCells)));
  } else {
    place.append(make("p", { class: "note" }, "No edge changed often enough to compute diagnostics: each was nearly always present or nearly always absent."));
  }
  if (convergence.biases.length) {
    const title = `${levels ? "Thresholds" : "Biases"} that have not converged`;
    place.append(make("h3", {}, title),
      diagnosticTable(title, [levels ? "Threshold" : "Node", "R-hat", "Effective draws", "State"], convergence.biases.map(biasCells)));
  }
  drawTraces();
}

function drawTraces() {
  const [width, height] = [600, 110];
  byId("traces").replaceChildren(...convergence.traces.map(({ name, chains }) => {
    const series = chains.map((values) => values.map(asNumber));
    const all = series.flat().filter(Number.isFinite);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const range = high - low || 1;
    const lines = series.map((values, k) => {
      const step = width / Math.max(1, values.length - 1);
      const points = values.map((v, t) => `${(t * step).toFixed(1)},${(height - 6 - ((v - low) / range) * (height - 12)).toFixed(1)}`);
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
