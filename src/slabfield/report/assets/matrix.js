// The matrix of inclusion probabilities, on a canvas, which is fast enough for many thousand cells.

const matrix = {
  canvas: byId("matrix-picture"),
  order: data.nodes.order,
  cell: null, // row and column in the order shown
  probability: new Map(),
  geometry: null,

  at(i, j) {
    return this.probability.get(Math.min(i, j) * names.length + Math.max(i, j));
  },

  draw() {
    const available = this.canvas.parentElement.clientWidth - 2 * parseFloat(getComputedStyle(this.canvas.parentElement).paddingLeft);
    const d = names.length;
    if (available <= 0) return;
    const font = Math.max(8, Math.min(13, Math.floor(Math.min(available, 760) / d) - 2));
    const longest = Math.max(...names.map((_, k) => textWidth(shortName(k), font)));
    let label = Math.ceil(longest) + 6;
    let side = Math.min(34, (Math.min(available, 760) - label) / d);
    const labeled = side >= 9;
    if (!labeled) {
      label = 0;
      side = Math.min(available, 700) / d;
    }
    // Whole pixels if cells are large enough, so that there are no seams between them
    side = side > 4 ? Math.floor(side) : side;
    const width = label + side * d;
    const scale = devicePixelRatio || 1;
    this.geometry = { label, side, width };
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(width * scale);
    this.canvas.style.width = this.canvas.style.height = `${width}px`;
    const pen = this.canvas.getContext("2d");
    pen.scale(scale, scale);
    this.paint(pen, labeled, font);
  },

  paint(pen, labeled, font) {
    const { label, side, width } = this.geometry;
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue(name).trim();
    const [low, high] = [color("--ramp-0"), color("--ramp-1")].map(channels);
    const gap = side >= 6 ? 1 : 0;
    pen.clearRect(0, 0, width, width);
    this.order.forEach((i, r) => {
      this.order.forEach((j, c) => {
        if (i === j) return;
        const p = this.at(i, j);
        pen.fillStyle = p === undefined ? color("--faint") : mixed(low, high, p);
        pen.fillRect(label + c * side, label + r * side, side - gap, side - gap);
      });
    });
    if (labeled) {
      pen.fillStyle = color("--ink");
      pen.font = `${font}px ${FONT}`;
      pen.textBaseline = "middle";
      this.order.forEach((k, r) => {
        pen.textAlign = "right";
        pen.fillText(shortName(k), label - 4, label + (r + 0.5) * side);
        pen.save();
        pen.translate(label + (r + 0.5) * side, label - 4);
        pen.rotate(-Math.PI / 2);
        pen.textAlign = "left";
        pen.fillText(shortName(k), 0, 0);
        pen.restore();
      });
    }
    if (this.cell) {
      pen.strokeStyle = color("--negative");
      pen.lineWidth = 2;
      pen.strokeRect(label + this.cell[1] * side, label + this.cell[0] * side, side - gap, side - gap);
    }
  },

  describe() {
    const [i, j] = [this.order[this.cell[0]], this.order[this.cell[1]]];
    const p = this.at(i, j);
    const text = i === j
      ? "the same node"
      : `inclusion probability ${p === undefined ? "too small to be in this report" : probabilityText(p)}`;
    byId("matrix-cell").replaceChildren(named(names[i]), " \u2013 ", named(names[j]), `: ${text}`);
  },

  under(event) {
    const frame = this.canvas.getBoundingClientRect();
    const scale = this.geometry.width / frame.width;
    const { label, side } = this.geometry;
    const [c, r] = [event.clientX - frame.left, event.clientY - frame.top].map((v) => Math.floor((v * scale - label) / side));
    const inside = (k) => k >= 0 && k < names.length;
    return inside(r) && inside(c) ? [r, c] : null;
  },

  select(cell) {
    this.cell = cell;
    this.draw();
    if (cell) this.describe();
  },
};

function channels(hex) {
  return [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
}

function mixed(low, high, share) {
  return `rgb(${low.map((v, k) => Math.round(v + (high[k] - v) * share)).join(" ")})`;
}

function startMatrix() {
  for (let e = 0; e < nEdges; e += 1) {
    matrix.probability.set(edges.first[e] * names.length + edges.second[e], edges.probability[e]);
  }
  const { canvas } = matrix;
  const point = (event) => {
    const cell = matrix.under(event);
    if (String(cell) !== String(matrix.cell)) matrix.select(cell);
    if (cell && event.pointerType === "mouse") {
      const [i, j] = cell.map((k) => matrix.order[k]);
      const p = matrix.at(i, j);
      if (p !== undefined) {
        tip.show(event, `${names[i]} \u2013 ${names[j]}`, [`inclusion probability ${probabilityText(p)}`]);
        return;
      }
    }
    tip.hide();
  };
  canvas.addEventListener("pointermove", point);
  canvas.addEventListener("click", point);
  canvas.addEventListener("pointerleave", () => {
    tip.hide();
    if (document.activeElement !== canvas) matrix.select(null);
  });
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const from = matrix.cell ?? [0, 0];
    const step = matrix.cell ? steps[event.key] : [0, 1];
    matrix.select(from.map((k, axis) => Math.min(names.length - 1, Math.max(0, k + step[axis]))));
  });
  byId("matrix-order").addEventListener("change", (event) => {
    matrix.order = event.target.value === "data" ? names.map((_, k) => k) : data.nodes.order;
    matrix.select(null);
  });
  new ResizeObserver(oncePerFrame(() => matrix.draw())).observe(byId("matrix"));
  matrix.draw();
}
