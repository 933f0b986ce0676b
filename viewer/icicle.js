// SPDX-License-Identifier: MIT
// The icicle: the root on top, what is inside below, as wide as its weight. The canvas is as
// large as the panel and draws what is in sight; the panel scrolls through deep trees.
import { oneLine, share } from "./format.js";

/** @typedef {import("./data.js").Tree} Tree */
/** What is in sight: a range of weight, and the depth at the top. May be between two nodes.
 * @typedef {{from: number, to: number, top: number}} Sight */

const PAD = 7;
const ZOOM_MS = 220;
const LOW = 24; // pixels, of a row in a deep tree
const HIGH = 36; // and in a shallow one
const ROOM = 230; // pixels that the tree may take before its rows get lower
const TINY = 0.6; // pixels; narrower nodes are only hinted at

export class Icicle {
  /**
   * @param {HTMLElement} panel @param {HTMLCanvasElement} canvas @param {HTMLElement} filler
   * @param {import("./colour.js").Palette} palette
   * @param {{pick: (node: number) => void,
   *   hover: (node: number, event: PointerEvent) => void}} events hover: -1 for none
   */
  constructor(panel, canvas, filler, palette, events) {
    this.panel = panel;
    this.canvas = canvas;
    this.filler = filler;
    this.palette = palette;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    /** @type {Tree | null} */
    this.tree = null;
    this.node = 0;
    this.row = LOW;
    this.marked = -1;
    /** @type {Uint8Array | null} */
    this.matched = null;
    /** @type {Sight} */
    this.sight = { from: 0, to: 1, top: 0 };
    /** @type {{from: Sight, to: Sight, start: number} | null} */
    this.move = null;
    this.waiting = false;
    /** @type {Map<string, number>} */
    this.widths = new Map();
    panel.addEventListener("scroll", () => this.redraw(), { passive: true });
    canvas.addEventListener("click", (event) => this.#click(event, events.pick));
    canvas.addEventListener("pointermove", (event) => this.#hover(event, events.hover));
    canvas.addEventListener("pointerleave", (event) => events.hover(-1, event));
    new ResizeObserver(() => this.resize()).observe(panel);
  }

  /** @param {Tree} tree @param {number} node */
  show(tree, node) {
    this.tree = tree;
    this.node = node;
    this.move = null;
    this.marked = -1;
    this.sight = this.#sightOf(node);
    this.row = Math.max(LOW, Math.min(HIGH, Math.floor(ROOM / (tree.maxDepth + 1))));
    this.panel.style.height = `${(tree.maxDepth + 1) * this.row + 2}px`;
    this.panel.scrollTop = 0;
    this.resize();
  }

  /** @param {number} node */
  zoom(node) {
    if (!this.tree || node === this.node) return;
    const from = { ...this.sight, top: this.sight.top + this.panel.scrollTop / this.row };
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.node = node;
    this.panel.scrollTop = 0;
    this.move = still ? null : { from, to: this.#sightOf(node), start: performance.now() };
    if (still) this.sight = this.#sightOf(node);
    this.#fill();
    this.redraw();
  }

  /** @param {Uint8Array | null} matched */
  highlight(matched) {
    this.matched = matched;
    this.redraw();
  }

  /** @param {number} node -1 for none */
  mark(node) {
    if (node === this.marked) return;
    this.marked = node;
    this.redraw();
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = this.panel;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.#fill();
    this.#draw();
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame((now) => {
      this.waiting = false;
      this.#step(now);
      this.#draw();
    });
  }

  /** @param {number} node @returns {Sight} */
  #sightOf(node) {
    const tree = /** @type {Tree} */ (this.tree);
    const span = tree.span[node] || 1;
    return { from: tree.start[node], to: tree.start[node] + span, top: tree.depth[node] };
  }

  /** Makes the panel scroll as far as the zoomed node is deep. */
  #fill() {
    const { tree, node } = this;
    if (!tree) return;
    let deepest = tree.depth[node];
    for (let i = node; i < tree.end[node]; i++) deepest = Math.max(deepest, tree.depth[i]);
    const height = (deepest - tree.depth[node] + 1) * this.row + 2;
    this.filler.style.height = `${Math.max(0, height - this.panel.clientHeight)}px`;
  }

  /** @param {number} now */
  #step(now) {
    if (!this.move) return;
    const { from, to, start } = this.move;
    const time = Math.min(1, Math.max(0, (now - start) / ZOOM_MS));
    const eased = 1 - (1 - time) ** 3;
    const mix = (/** @type {number} */ a, /** @type {number} */ b) => a + (b - a) * eased;
    this.sight = time < 1
      ? { from: mix(from.from, to.from), to: mix(from.to, to.to), top: mix(from.top, to.top) }
      : to;
    if (time < 1) this.redraw();
    else this.move = null;
  }

  #draw() {
    const { context, canvas, tree, palette } = this;
    const ratio = devicePixelRatio || 1;
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (!tree) return;
    context.font = `${12 * ratio}px ${palette.theme.font}`;
    context.textBaseline = "middle";
    const scale = canvas.width / (this.sight.to - this.sight.from);
    const top = this.sight.top + this.panel.scrollTop / this.row;
    const lastTiny = new Map();
    for (let i = 0; i < tree.count; ) {
      const left = (tree.start[i] - this.sight.from) * scale;
      const right = left + tree.span[i] * scale;
      const y = Math.round((tree.depth[i] - top) * this.row * ratio);
      if (left >= canvas.width && i !== 0) i = tree.end[tree.parent[i]];
      else if (right <= 0 || y >= canvas.height) i = tree.end[i];
      else if (right - left < TINY) {
        this.#hint(Math.round(left), y, lastTiny);
        i = tree.end[i];
      } else {
        if (y > -this.row * ratio) this.#box(i, left, right, y, ratio);
        i++;
      }
    }
    if (this.marked >= 0) this.#outline(this.marked, scale, top, ratio);
  }

  /** One pixel for any number of nodes too narrow to draw.
   * @param {number} x @param {number} y @param {Map<number, number>} last by y */
  #hint(x, y, last) {
    if (last.get(y) === x) return;
    last.set(y, x);
    this.context.fillStyle = this.palette.theme.rest;
    const ratio = devicePixelRatio || 1;
    this.context.fillRect(x, y + ratio, 1, this.row * ratio - 2 * ratio);
  }

  /** @param {number} node @param {number} left @param {number} right @param {number} y
   * @param {number} ratio */
  #box(node, left, right, y, ratio) {
    const { context, canvas, palette, matched } = this;
    const tree = /** @type {Tree} */ (this.tree);
    const gap = Math.max(1, Math.round(ratio));
    const x = Math.max(0, Math.round(left));
    const end = Math.min(canvas.width, Math.round(right));
    const width = Math.max(1, end - x - (right - left > 3 * gap ? gap : 0));
    const isMatch = matched !== null && matched[node] === 1;
    context.globalAlpha = matched && !isMatch ? 0.38 : 1;
    context.fillStyle = isMatch ? palette.theme.match : palette.of(tree, node);
    context.beginPath();
    const radius = width > 8 ? 2 * ratio : 0;
    context.roundRect(x, y + gap, width, Math.round(this.row * ratio) - 2 * gap, radius);
    context.fill();
    if (width > 26 * ratio) {
      context.fillStyle = isMatch ? palette.theme.matchInk : palette.theme.ink;
      const middle = y + (this.row * ratio) / 2;
      this.#label(node, x + PAD * ratio, width - 2 * PAD * ratio, middle, ratio);
    }
    context.globalAlpha = 1;
  }

  /** The name, and its share behind it when there is room.
   * @param {number} node @param {number} x @param {number} room @param {number} y
   * @param {number} ratio */
  #label(node, x, room, y, ratio) {
    const tree = /** @type {Tree} */ (this.tree);
    const name = oneLine(tree.label(node), 300);
    const width = this.#width(name);
    this.context.fillText(width <= room ? name : this.#shortened(name, room), x, y + 0.5 * ratio);
    const part = share(tree.weight[node], tree.whole);
    const partWidth = this.#width(part);
    if (node === 0 || width + partWidth + 16 * ratio > room) return;
    const alpha = this.context.globalAlpha;
    this.context.globalAlpha = alpha * 0.62;
    this.context.fillText(part, x + room - partWidth, y + 0.5 * ratio);
    this.context.globalAlpha = alpha;
  }

  /** @param {string} text in device pixels */
  #width(text) {
    const key = `${this.context.font}|${text}`;
    let width = this.widths.get(key);
    if (width === undefined) {
      if (this.widths.size > 20000) this.widths.clear();
      width = this.context.measureText(text).width;
      this.widths.set(key, width);
    }
    return width;
  }

  /** The longest beginning that fits with an ellipsis. @param {string} name @param {number} room */
  #shortened(name, room) {
    let fits = 0;
    let not = name.length;
    while (not - fits > 1) {
      const middle = (fits + not) >> 1;
      if (this.context.measureText(`${name.slice(0, middle)}…`).width <= room) fits = middle;
      else not = middle;
    }
    return fits < 2 ? "" : `${name.slice(0, fits)}…`;
  }

  /** @param {number} node @param {number} scale @param {number} top @param {number} ratio */
  #outline(node, scale, top, ratio) {
    const tree = /** @type {Tree} */ (this.tree);
    const line = 1.5 * ratio;
    const x = Math.max(0, (tree.start[node] - this.sight.from) * scale);
    const right = (tree.start[node] + tree.span[node] - this.sight.from) * scale;
    const end = Math.min(this.canvas.width, right);
    const y = (tree.depth[node] - top) * this.row * ratio;
    if (end < 0 || x > this.canvas.width || y < -this.row * ratio) return;
    this.context.strokeStyle = this.palette.theme.line;
    this.context.lineWidth = line;
    this.context.strokeRect(Math.round(x) + line / 2, Math.round(y) + ratio,
      Math.max(line, Math.round(end - x) - line - ratio), this.row * ratio - 2 * ratio);
  }

  /** The node at a place of the canvas, or -1. @param {MouseEvent} event */
  #at(event) {
    const { tree } = this;
    if (!tree || this.move) return -1;
    const box = this.canvas.getBoundingClientRect();
    const { from, to, top } = this.sight;
    const at = from + ((event.clientX - box.left) / box.width) * (to - from);
    const depth = Math.floor((event.clientY - box.top + this.panel.scrollTop) / this.row + top);
    let node = this.node;
    while (tree.depth[node] < depth) {
      let child = node + 1;
      while (child < tree.end[node] && tree.start[child] + tree.span[child] <= at)
        child = tree.end[child];
      if (child >= tree.end[node] || tree.start[child] > at) return -1;
      node = child;
    }
    return node;
  }

  /** @param {MouseEvent} event @param {(node: number) => void} pick */
  #click(event, pick) {
    const node = this.#at(event);
    if (node >= 0) pick(node);
  }

  /** @param {PointerEvent} event @param {(node: number, event: PointerEvent) => void} hover */
  #hover(event, hover) {
    const node = this.#at(event);
    this.canvas.style.cursor = node >= 0 ? "pointer" : "default";
    hover(node, event);
  }
}
