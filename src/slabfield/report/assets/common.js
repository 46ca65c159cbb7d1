// Shared by all parts: the data, number formats, and creation of elements.
// Node names come from a user's table: they are only ever used in text nodes and attributes.

const data = JSON.parse(document.getElementById("report-data").textContent);
const byId = (id) => document.getElementById(id);
const SVG = byId("network-picture").namespaceURI;

/** Null means NaN; infinity is stored as text, which Number reads. */
const asNumber = (value) => (value === null ? NaN : Number(value));
const column = (values) => Float64Array.from(values, asNumber);

const names = data.nodes.name;
const nodes = { bias: column(data.nodes.bias), degree: column(data.nodes.degree) };
const edges = { first: data.edges.first, second: data.edges.second };
for (const name of [
  "probability", "factor", "mcse", "coupling_given_presence", "lower_given_presence", "upper_given_presence",
  "coupling_averaged", "odds_ratio", "rhat", "ess",
]) {
  edges[name] = column(data.edges[name]);
}
const nEdges = edges.first.length;
const edgesAt = names.map(() => []);
for (let e = 0; e < nEdges; e += 1) {
  edgesAt[edges.first[e]].push(e);
  edgesAt[edges.second[e]].push(e);
}

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function shape(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const named = (text) => make("span", { class: "name" }, text);
const edgeName = (e) => `${names[edges.first[e]]} \u2013 ${names[edges.second[e]]}`;
/** Edges of several parameters have a strength, their norm, in place of a coupling. */
const isSigned = (e) => !data.edges.parameters?.[e];
const couplingWord = (e) => (isSigned(e) ? "coupling" : "strength");
const strengthOf = (e) => Math.abs(edges.coupling_given_presence[e]) || 0;

function decimals(value, digits = 2) {
  if (Number.isNaN(value)) return "\u2013";
  if (!Number.isFinite(value)) return value > 0 ? "\u221e" : "\u2212\u221e";
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? `\u2212${text}` : text;
}

/** Only probability 1 is shown as 1.000, and only probability 0 as 0.000. */
function probabilityText(p) {
  if (p >= 0.9995 && p < 1) return "> 0.999";
  return p > 0 && p < 0.0005 ? "< 0.001" : p.toFixed(3);
}

/** Evidence against an edge is shown as a fraction, as factor_text in Python does. */
function factorText(b) {
  if (Number.isNaN(b)) return "\u2013";
  if (b > 1e6) return "> 10\u2076";
  if (b < 1e-6) return "< 1/10\u2076";
  if (b < 1 / 3) return `1/${factorText(1 / b)}`;
  return b >= 10 ? Math.round(b).toLocaleString("en-GB") : b.toPrecision(2);
}

/** The Bayes factor times and divided by exp(two Monte Carlo standard errors of its log). */
function errorText(e) {
  const range = [-2, 2].map((k) => factorText(edges.factor[e] * Math.exp(k * edges.mcse[e])));
  return `${range.join(" to ")} within the Monte Carlo error`;
}

const integerText = (value) => (Number.isNaN(value) ? "\u2013" : Math.round(value).toLocaleString("en-GB"));
const intervalText = (low, high) =>
  Number.isNaN(low) ? "\u2013" : `${decimals(low)} to ${decimals(high)}`;
const intervalOf = (e) => intervalText(edges.lower_given_presence[e], edges.upper_given_presence[e]);
/** Couplings with their sign, strengths between bars. */
const couplingText = (e) => {
  const text = decimals(edges.coupling_given_presence[e]);
  return isSigned(e) || Number.isNaN(edges.coupling_given_presence[e]) ? text : `|${text}|`;
};
const plural = (count, word) => `${count.toLocaleString("en-GB")} ${word}${count === 1 ? "" : "s"}`;

/** Run an action at most once per animation frame, however often it is called. */
function oncePerFrame(action) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      action();
    });
  };
}

/** The tooltip beside the pointer. */
const tip = {
  box: byId("tip"),
  show(event, title, lines) {
    this.box.replaceChildren(make("b", { class: "name" }, title));
    for (const line of lines) this.box.append(make("div", {}, line));
    this.box.hidden = false;
    const { width, height } = this.box.getBoundingClientRect();
    const right = event.clientX + 14 + width < document.documentElement.clientWidth;
    const below = event.clientY + 16 + height < innerHeight;
    this.box.style.left = `${Math.max(4, right ? event.clientX + 14 : event.clientX - width - 10)}px`;
    this.box.style.top = `${Math.max(4, below ? event.clientY + 16 : event.clientY - height - 10)}px`;
  },
  hide() {
    this.box.hidden = true;
  },
};

function edgeLines(e) {
  const lines = [`inclusion probability ${probabilityText(edges.probability[e])}`];
  if (!Number.isNaN(edges.coupling_given_presence[e])) {
    lines.push(`${couplingWord(e)} ${couplingText(e)} (${intervalOf(e)})`);
  }
  if (!Number.isNaN(edges.factor[e])) {
    lines.push(`Bayes factor ${factorText(edges.factor[e])}: ${data.edges.evidence[e]}`);
  }
  return lines;
}
