// The network: edges above a threshold, and details of the selected node or edge.

const MIN_WIDTH = 0.8;
const MAX_WIDTH = 6;
const MIN_OPACITY = 0.15;
const widthOf = (strength) =>
  MIN_WIDTH + (MAX_WIDTH - MIN_WIDTH) * Math.min(strength / data.network.strongest, 1);
const opacityOf = (p) => MIN_OPACITY + (1 - MIN_OPACITY) * p * p;
const isNegative = (e) => edges.coupling_given_presence[e] < 0;
const classOf = (e) => (isNegative(e) ? "edge negative" : isSigned(e) ? "edge" : "edge unsigned");

const network = {
  picture: byId("network-picture"),
  links: byId("network-links"),
  strong: byId("network-strong"),
  marks: byId("network-nodes"),
  threshold: data.network.threshold,
  weakest: 0,
  layout: null,
  shown: [],
  lines: new Map(),
  nodeMarks: [],
  pinned: null, // { node } or { edge }: selected by a click or a key
  pointed: null, // the same, under the pointer

  // In order of probability, so that the most probable edges lie on top
  order: Array.from({ length: nEdges }, (_, e) => e).sort(
    (a, b) => edges.probability[a] - edges.probability[b] || a - b,
  ),

  makeLine(e) {
    const width = widthOf(strengthOf(e));
    const at = (t) => pointOf(this.layout, e, t).map((value) => value.toFixed(1)).join(" ");
    // The control point of a parabola is twice as far from the chord as its midpoint
    const [[ax, ay], [mx, my], [bx, by]] = [0, 0.5, 1].map((t) => pointOf(this.layout, e, t));
    const control = [2 * mx - (ax + bx) / 2, 2 * my - (ay + by) / 2].map((v) => v.toFixed(1)).join(" ");
    const line = shape("path", {
      fill: "none",
      d: this.layout.bend(e) === 0 ? `M${at(0)}L${at(1)}` : `M${at(0)}Q${control} ${at(1)}`,
      class: classOf(e),
      "stroke-width": width.toFixed(2),
      "stroke-opacity": opacityOf(edges.probability[e]).toFixed(3),
    });
    if (isNegative(e)) {
      const dashes = [Math.max(2.2 * width, 4), Math.max(1.1 * width, 3)];
      line.setAttribute("stroke-dasharray", dashes.map((v) => v.toFixed(1)).join(" "));
    }
    return line;
  },

  line(e) {
    if (!this.lines.has(e)) this.lines.set(e, this.makeLine(e));
    return this.lines.get(e);
  },

  /** Show the edges at or above the threshold. */
  update() {
    this.shown = this.order.filter(
      (e) => edges.probability[e] >= this.threshold && strengthOf(e) >= this.weakest,
    );
    const joined = new Set();
    for (const e of this.shown) joined.add(edges.first[e]).add(edges.second[e]);
    this.nodeMarks.forEach((mark, k) => mark.classList.toggle("lonely", !joined.has(k)));
    const weak = this.weakest > 0 ? ` and strength ${this.weakest.toFixed(2)} or more` : "";
    byId("shown").textContent =
      `${plural(this.shown.length, "edge")} shown, of ${data.network.n_edges.toLocaleString("en-GB")} ` +
      `possible: inclusion probability ${Number(this.threshold.toFixed(4))} or more${weak}.`;
    this.links.replaceChildren(...this.shown.map((e) => this.line(e)));
    this.highlight();
    this.describe();
  },

  /** Redraw the pointed or selected node or edge on top, and dim everything else. */
  highlight() {
    const chosen = this.pointed ?? this.pinned;
    const strong = new Set();
    const near = new Set();
    if (chosen?.edge !== undefined) strong.add(chosen.edge);
    if (chosen?.node !== undefined) {
      near.add(chosen.node);
      for (const e of this.shown) {
        if (edges.first[e] === chosen.node || edges.second[e] === chosen.node) strong.add(e);
      }
    }
    for (const e of strong) near.add(edges.first[e]).add(edges.second[e]);
    this.strong.replaceChildren(...[...strong].map((e) => this.makeLine(e)));
    this.links.classList.toggle("dim", chosen !== null);
    this.picture.classList.toggle("has-choice", chosen !== null);
    this.nodeMarks.forEach((mark, k) => {
      mark.classList.toggle("near", near.has(k));
      mark.classList.toggle("chosen", chosen?.node === k);
      mark.setAttribute("aria-pressed", String(this.pinned?.node === k));
    });
  },

  choose(what) {
    this.pinned = what;
    this.highlight();
    this.describe();
  },

  describe() {
    const panel = byId("details");
    if (this.pinned === null) {
      panel.replaceChildren(
        make("p", { class: "note" }, "Select a node to see its edges, or an edge to see its numbers."),
        make("p", { class: "note" }, "Keyboard: Tab to the network, then arrow keys."),
      );
      return;
    }
    panel.replaceChildren(...(this.pinned.edge === undefined ? nodeDetails(this.pinned.node) : edgeDetails(this.pinned.edge)));
  },

  resize() {
    const width = byId("network-frame").clientWidth;
    if (width === 0 || width === this.layout?.width) return;
    const tall = names.length > 40 ? 0.85 : 0.68;
    const height = Math.round(width < 560 ? width * 1.15 : Math.min(width * tall, 720));
    this.picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.layout = { width, height, ...layOut(width, height) };
    const bends = new Map();
    this.layout.bend = (e) => {
      if (!bends.has(e)) bends.set(e, bendOf(this.layout, edges.first[e], edges.second[e]));
      return bends.get(e);
    };
    this.picture.classList.toggle("dots", this.layout.dots);
    byId("details").style.maxHeight = width < 560 ? "" : `${height + 2}px`;
    this.drawNodes();
    this.lines.clear();
    this.update();
  },

  drawNodes() {
    const { x, y, boxes, size, dots, labels } = this.layout;
    const focused = this.nodeMarks.indexOf(document.activeElement);
    this.nodeMarks = names.map((name, k) => {
      const mark = shape("g", {
        class: dots && labels[k].crowded ? "node crowded" : "node",
        tabindex: k === Math.max(focused, 0) ? "0" : "-1",
        role: "button",
        "aria-label": `Node ${name}`,
        transform: `translate(${x[k].toFixed(1)} ${y[k].toFixed(1)})`,
      });
      const w = boxes[k].x1 - boxes[k].x0;
      const outline = dots
        ? shape("circle", { r: 4 })
        : shape("rect", { x: -w / 2, y: -12, width: w, height: 24, rx: 6 });
      const [dx, dy] = dots ? [labels[k].dx, labels[k].dy] : [0, 0];
      mark.append(outline, shape("text", { x: dx, y: dy, "font-size": size }, shortName(k)));
      mark.addEventListener("focus", () => this.choose({ node: k }));
      mark.addEventListener("keydown", (event) => this.onKey(event, k));
      return mark;
    });
    this.marks.replaceChildren(...this.nodeMarks);
    if (focused >= 0) this.nodeMarks[focused].focus();
  },

  onKey(event, k) {
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key in arrows) {
      event.preventDefault();
      const next = nodeTowards(this.layout, k, ...arrows[event.key]);
      this.nodeMarks[k].setAttribute("tabindex", "-1");
      this.nodeMarks[next].setAttribute("tabindex", "0");
      this.nodeMarks[next].focus();
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.choose({ node: k });
    } else if (event.key === "Escape") {
      this.choose(null);
    }
  },

  under(event) {
    const frame = this.picture.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    const node = nodeNear(this.layout, x, y);
    if (node >= 0) return { node };
    const edge = edgeNear(this.layout, this.shown, x, y);
    return edge >= 0 ? { edge } : null;
  },

  point(what, event) {
    const same = what?.node === this.pointed?.node && what?.edge === this.pointed?.edge;
    this.pointed = what;
    if (!same) this.highlight();
    if (what === null) tip.hide();
    else if (what.edge !== undefined) tip.show(event, edgeName(what.edge), edgeLines(what.edge));
    else tip.show(event, names[what.node], nodeLines(what.node));
  },
};

const shownAt = (k) =>
  network.shown.filter((e) => edges.first[e] === k || edges.second[e] === k).reverse();

function nodeLines(k) {
  return [
    `${plural(shownAt(k).length, "edge")} shown`,
    `expected number of edges ${decimals(nodes.degree[k], 1)}`,
    levels ? kindText(k) : `bias ${decimals(nodes.bias[k])}`,
  ];
}

function factList(pairs) {
  return make("dl", { class: "facts" }, ...pairs.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

function nodeDetails(k) {
  const found = shownAt(k);
  const items = found.map((e) => {
    const other = edges.first[e] === k ? edges.second[e] : edges.first[e];
    const button = make(
      "button", { type: "button" }, named(names[other]),
      make("span", { class: isNegative(e) ? "value minus" : "value" }, couplingText(e)),
      make("span", { class: "value" }, probabilityText(edges.probability[e])),
    );
    button.addEventListener("click", () => network.choose({ edge: e }));
    return make("li", {}, button);
  });
  return [
    make("h3", {}, named(names[k])),
    factList([levels ? ["kind", kindText(k)] : ["bias", decimals(nodes.bias[k])], ["expected number of edges", decimals(nodes.degree[k], 1)], ["edges shown", String(found.length)]]),
    make("p", { class: "note" }, found.length ? "Coupling and inclusion probability:" : "No edge at this threshold."),
    make("ul", {}, ...items),
    ...(levels ? levelDetails(k) : []),
  ];
}

function edgeDetails(e) {
  const ends = [edges.first[e], edges.second[e]].map((k) => {
    const button = make("button", { type: "button" }, named(names[k]));
    button.addEventListener("click", () => network.choose({ node: k }));
    return make("li", {}, button);
  });
  return [
    make("h3", {}, named(edgeName(e))),
    factList([
      ["inclusion probability", probabilityText(edges.probability[e])],
      ["Bayes factor", factorText(edges.factor[e])],
      [`${couplingWord(e)} if present`, couplingText(e)],
      ["95% interval", intervalOf(e)],
      ...(isSigned(e) ? oddsRatio(e) : []),
      [`averaged ${couplingWord(e)}`, decimals(edges.coupling_averaged[e])],
      ["R-hat", decimals(edges.rhat[e], 3)],
      ["effective draws", integerText(edges.ess[e])],
    ]),
    ...(levels ? pairDetails(e) : []),
    make("p", { class: "note" }, "Its nodes:"),
    make("ul", {}, ...ends),
  ];
}

function drawLegend() {
  const strongest = data.network.strongest;
  const sample = (kind, width, opacity, dash = "none") =>
    shape("svg", { viewBox: "0 0 34 12", "aria-hidden": "true" }, shape("line", {
      class: kind, x1: 0, x2: 34, y1: 6, y2: 6, "stroke-width": width, "stroke-opacity": opacity, "stroke-dasharray": dash,
    }));
  const entries = [
    ["positive coupling", sample("edge", 3, 1)],
    ["negative coupling", sample("edge negative", 3, 1, "7 4")],
    [`strength ${decimals(strongest, 1)} or more`, sample("edge", MAX_WIDTH, 1)],
    [`strength ${decimals(strongest / 4, 1)}`, sample("edge", widthOf(strongest / 4), 1)],
    ["probability 1", sample("edge", 4, 1)],
    ["probability 0.5", sample("edge", 4, opacityOf(0.5))],
  ];
  if (data.edges.parameters?.some(Boolean)) entries.splice(2, 0, ["without sign", sample("edge unsigned", 3, 1)]);
  byId("network-key").replaceChildren(...entries.map(([text, line]) => make("span", {}, line, text)));
}

function startNetwork() {
  const [slider, number, weakest] = [byId("threshold"), byId("threshold-number"), byId("weakest")];
  const update = oncePerFrame(() => network.update());
  const setThreshold = (value, from) => {
    if (Number.isNaN(value)) return;
    network.threshold = Math.min(1, Math.max(data.network.min_threshold, value));
    for (const input of [slider, number]) if (input !== from) input.value = network.threshold;
    slider.setAttribute("aria-valuetext", `${network.threshold} or more`);
    update();
  };
  slider.min = number.min = data.network.min_threshold;
  slider.value = number.value = network.threshold;
  slider.addEventListener("input", () => setThreshold(Number(slider.value), slider));
  number.addEventListener("input", () => setThreshold(number.valueAsNumber, number));
  number.addEventListener("change", () => (number.value = network.threshold));
  let strongest = 0.1;
  for (let e = 0; e < nEdges; e += 1) if (edges.probability[e] >= 0.5) strongest = Math.max(strongest, strengthOf(e));
  weakest.max = strongest;
  const setWeakest = () => {
    network.weakest = Number(weakest.value);
    byId("weakest-value").textContent = network.weakest.toFixed(2);
    update();
  };
  weakest.addEventListener("input", setWeakest);
  byId("weakest-value").textContent = "0.00";

  const { picture } = network;
  picture.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse") network.point(network.under(event), event);
  });
  picture.addEventListener("pointerleave", (event) => network.point(null, event));
  picture.addEventListener("click", (event) => {
    const what = network.under(event);
    network.choose(what);
  });
  drawLegend();
  new ResizeObserver(oncePerFrame(() => network.resize())).observe(byId("network-frame"));
  network.resize();
}
