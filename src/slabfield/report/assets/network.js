// Layout of nodes and their names on a canvas of a given size, and search for what is near a point.

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif';
const MAX_NAME_LENGTH = 16;
const ruler = document.createElement("canvas").getContext("2d");

function shortName(k) {
  const letters = Array.from(names[k]);
  return letters.length <= MAX_NAME_LENGTH ? names[k] : `${letters.slice(0, MAX_NAME_LENGTH - 1).join("")}\u2026`;
}

function textWidth(text, size) {
  ruler.font = `${size}px ${FONT}`;
  return ruler.measureText(text).width;
}

const overlap = (a, b) => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
const boxAt = (x, y, w, h) => ({ x0: x - w / 2, x1: x + w / 2, y0: y - h / 2, y1: y + h / 2 });

/** Scale the positions of the nodes to the canvas; a flat network keeps its aspect ratio. */
function scaleToCanvas(width, height, marginX, marginY) {
  const tallest = Math.max(0.3, ...data.nodes.y.map(Math.abs));
  const x = data.nodes.x.map((value) => width / 2 + value * (width / 2 - marginX));
  const y = data.nodes.y.map((value) => height / 2 - (value / tallest) * (height / 2 - marginY));
  return { x, y };
}

/** Names in boxes if nearly all of them fit, otherwise dots with names beside them. */
function layOut(width, height) {
  const size = width < 500 ? 12 : 13;
  const widths = names.map((_, k) => textWidth(shortName(k), size) + 14);
  const places = scaleToCanvas(width, height, Math.min(Math.max(...widths) / 2 + 6, width / 3), 20);
  const boxes = names.map((_, k) => boxAt(places.x[k], places.y[k], widths[k], 24));
  let overlaps = 0;
  for (let i = 0; i < boxes.length; i += 1) {
    for (let j = i + 1; j < boxes.length; j += 1) overlaps += overlap(boxes[i], boxes[j]) ? 1 : 0;
  }
  if (overlaps <= names.length / 10) return { ...places, boxes, size, dots: false };
  return dotted(width, height);
}

function dotted(width, height) {
  const size = names.length > 60 || width < 500 ? 11 : 12;
  const places = scaleToCanvas(width, height, Math.min(40, width / 8), 22);
  const taken = names.map((_, k) => boxAt(places.x[k], places.y[k], 8, 8));
  const labels = names.map(() => null);
  const order = names.map((_, k) => k).sort((a, b) => nodes.degree[b] - nodes.degree[a]);
  for (const k of order) {
    const w = textWidth(shortName(k), size) + 4;
    const beside = w / 2 + 6;
    const tries = [[0, -11], [0, 12], [beside, 0], [-beside, 0], [beside, -9], [-beside, -9]];
    const boxes = tries.map(([dx, dy]) => boxAt(places.x[k] + dx, places.y[k] + dy, w, size + 2));
    const free = boxes.findIndex(
      (box) =>
        box.x0 >= 0 && box.x1 <= width && box.y0 >= 0 && box.y1 <= height &&
        !taken.some((other, j) => j !== k && overlap(box, other)),
    );
    const [dx, dy] = tries[Math.max(free, 0)];
    labels[k] = { dx, dy, crowded: free < 0 };
    if (free >= 0) taken.push(boxes[free]);
  }
  const boxes = names.map((_, k) => boxAt(places.x[k], places.y[k], 14, 14));
  return { ...places, boxes, labels, size, dots: true };
}

function nodeNear(layout, x, y) {
  const inside = (box) => box.x0 <= x && x <= box.x1 && box.y0 <= y && y <= box.y1;
  for (let k = names.length - 1; k >= 0; k -= 1) if (inside(layout.boxes[k])) return k;
  return -1;
}

/** How far an edge bends sideways to go around the boxes of other nodes. */
function bendOf(layout, i, j) {
  const [ax, ay] = [layout.x[i], layout.y[i]];
  const [dx, dy] = [layout.x[j] - ax, layout.y[j] - ay];
  const length = Math.hypot(dx, dy);
  if (length === 0) return 0;
  const near = [];
  for (let k = 0; k < names.length; k += 1) {
    const box = layout.boxes[k];
    const [w, h] = [box.x1 - box.x0, box.y1 - box.y0];
    const [x, y] = [layout.x[k] - ax, layout.y[k] - ay];
    const at = (x * dx + y * dy) / length ** 2;
    if (k === i || k === j || at < 0.02 || at > 0.98) continue;
    near.push({
      shape: 2 * at * (1 - at),
      beside: (y * dx - x * dy) / length,
      extent: (w * Math.abs(dy) + h * Math.abs(dx)) / (2 * length),
    });
  }
  const nHits = (bend) =>
    near.filter((k) => Math.abs(k.shape * bend - k.beside) < k.extent).length;
  let best = { bend: 0, count: nHits(0) };
  if (best.count === 0) return 0;
  for (const k of near) {
    for (const side of [1, -1]) {
      const bend = (k.beside + side * 1.25 * k.extent) / Math.max(k.shape, 0.25);
      const count = nHits(bend);
      const better = count < best.count || (count === best.count && Math.abs(bend) < Math.abs(best.bend));
      const [mx, my] = [ax + dx / 2 - (bend / 2) * (dy / length), ay + dy / 2 + (bend / 2) * (dx / length)];
      const inside = mx > 4 && mx < layout.width - 4 && my > 4 && my < layout.height - 4;
      if (inside && Math.abs(bend) <= 0.8 * length && better) best = { bend, count };
    }
  }
  return best.bend;
}

/** The point of an edge at parameter t, from 0 at one end to 1 at the other. */
function pointOf(layout, e, t) {
  const [i, j] = [edges.first[e], edges.second[e]];
  const [dx, dy] = [layout.x[j] - layout.x[i], layout.y[j] - layout.y[i]];
  const aside = (2 * t * (1 - t) * layout.bend(e)) / (Math.hypot(dx, dy) || 1);
  return [layout.x[i] + t * dx - aside * dy, layout.y[i] + t * dy + aside * dx];
}

function distanceTo([ax, ay], [cx, cy], x, y) {
  const [bx, by] = [cx - ax, cy - ay];
  const along = Math.min(1, Math.max(0, ((x - ax) * bx + (y - ay) * by) / (bx * bx + by * by || 1)));
  return Math.hypot(x - ax - along * bx, y - ay - along * by);
}

function edgeNear(layout, shown, x, y, reach = 7) {
  let best = -1;
  let least = reach;
  for (const e of shown) {
    const pieces = layout.bend(e) === 0 ? 1 : 8;
    for (let k = 0; k < pieces; k += 1) {
      const far = distanceTo(pointOf(layout, e, k / pieces), pointOf(layout, e, (k + 1) / pieces), x, y);
      if (far <= least) [best, least] = [e, far];
    }
  }
  return best;
}

/** The nearest node within about 45 degrees of the direction of an arrow key. */
function nodeTowards(layout, from, dx, dy) {
  let best = from;
  let least = Infinity;
  for (let k = 0; k < names.length; k += 1) {
    const [x, y] = [layout.x[k] - layout.x[from], layout.y[k] - layout.y[from]];
    const ahead = x * dx + y * dy;
    const aside = Math.abs(x * dy) + Math.abs(y * dx);
    if (k !== from && ahead > 0 && aside <= ahead * 1.2 && ahead + 2 * aside < least) {
      [best, least] = [k, ahead + 2 * aside];
    }
  }
  return best;
}
