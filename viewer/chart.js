// SPDX-License-Identifier: MIT
// The tree as boxes on a canvas. A form (icicle.js, treemap.js) says where the boxes are; here they
// are painted, named, outlined and zoomed. The canvas is as large as the panel and shows what is in
// sight; the panel scrolls where a form is higher than it.
import { oneLine, share } from "./format.js";

/** @typedef {import("./data.js").Tree} Tree */
/** What is to be shown, and where, in pixels of the device. The sight is the form's own: numbers
 * that may be between those of two nodes while one zooms.
 * @typedef {{tree: Tree, node: number, sight: number[], width: number, height: number,
 *   ratio: number, scroll: number}} Look */
/** A box has its name in a line of its top; that of a box in place of several begins above it.
 * @typedef {{node: number, x: number, y: number, width: number, height: number, line: number,
 *   from?: number}} Box */
/** @typedef {{id: string, about: string, hasFrames: boolean, height: (tree: Tree) => number,
 *   heightOf: (tree: Tree, node: number) => number, sightOf: (tree: Tree, node: number) => number[],
 *   scrolled: (sight: number[], pixels: number) => number[],
 *   boxes: (look: Look, put: (box: Box) => void,
 *     hint: (x: number, y: number, height: number) => void) => void,
 *   place: (look: Look, node: number) => Box | null,
 *   at: (look: Look, x: number, y: number) => number}} Form */

const PAD = 7;
const ZOOM_MS = 220;
const LINE_LEAST = 13; // pixels, that a name needs
const NAMES_MOST = 12; // in one box

export class Chart {
  /**
   * @param {HTMLElement} panel @param {HTMLCanvasElement} canvas @param {HTMLElement} filler
   * @param {import("./colour.js").Palette} palette @param {Form} form
   * @param {{pick: (node: number) => void,
   *   hover: (node: number, event: PointerEvent) => void}} events hover: -1 for none
   */
  constructor(panel, canvas, filler, palette, form, events) {
    this.panel = panel;
    this.canvas = canvas;
    this.filler = filler;
    this.palette = palette;
    this.form = form;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    /** @type {Tree | null} */
    this.tree = null;
    this.node = 0;
    this.marked = -1;
    /** @type {Uint8Array | null} */
    this.matched = null;
    /** @type {number[]} */
    this.sight = [];
    /** @type {{from: number[], to: number[], start: number} | null} */
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

  /** @param {Tree} tree @param {number} node @param {Form} form */
  show(tree, node, form) {
    this.tree = tree;
    this.form = form;
    this.node = node;
    this.move = null;
    this.marked = -1;
    this.sight = form.sightOf(tree, node);
    this.panel.style.height = `${form.height(tree)}px`;
    this.panel.scrollTop = 0;
    this.resize();
  }

  /** @param {number} node */
  zoom(node) {
    if (!this.tree || node === this.node) return;
    const to = this.form.sightOf(this.tree, node);
    const still = !to.length || matchMedia("(prefers-reduced-motion: reduce)").matches;
    const from = this.form.scrolled(this.sight, this.panel.scrollTop);
    this.node = node;
    this.panel.scrollTop = 0;
    this.move = still ? null : { from, to, start: performance.now() };
    if (still) this.sight = to;
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

  /** @returns {Look} */
  #look() {
    const { node, sight, panel } = this;
    const { width, height } = this.canvas;
    const ratio = devicePixelRatio || 1;
    const tree = /** @type {Tree} */ (this.tree);
    return { tree, node, sight, width, height, ratio, scroll: panel.scrollTop * ratio };
  }

  /** Makes the panel scroll as far as the zoomed node is deep. */
  #fill() {
    if (!this.tree) return;
    const height = this.form.heightOf(this.tree, this.node);
    this.filler.style.height = `${Math.max(0, height - this.panel.clientHeight)}px`;
  }

  /** @param {number} now */
  #step(now) {
    if (!this.move) return;
    const { from, to, start } = this.move;
    const time = Math.min(1, Math.max(0, (now - start) / ZOOM_MS));
    const eased = 1 - (1 - time) ** 3;
    this.sight = time < 1 ? from.map((value, i) => value + (to[i] - value) * eased) : to;
    if (time < 1) this.redraw();
    else this.move = null;
  }

  #draw() {
    const { context, canvas, palette } = this;
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (!this.tree) return;
    const look = this.#look();
    context.font = `${12 * look.ratio}px ${palette.theme.font}`;
    context.textBaseline = "middle";
    const lastTiny = new Map();
    this.form.boxes(look, (box) => this.#box(box, look.ratio),
      (x, y, height) => this.#hint(x, y, height, lastTiny));
    const marked = this.marked < 0 ? null : this.form.place(look, this.marked);
    if (marked) this.#outline(marked, look.ratio);
  }

  /** One pixel for any number of nodes too narrow to draw.
   * @param {number} x @param {number} y @param {number} height
   * @param {Map<number, number>} last by y */
  #hint(x, y, height, last) {
    if (last.get(y) === x) return;
    last.set(y, x);
    this.context.fillStyle = this.palette.theme.rest;
    const ratio = devicePixelRatio || 1;
    this.context.fillRect(x, y + ratio, 1, height - 2 * ratio);
  }

  /** @param {Box} box @param {number} ratio */
  #box(box, ratio) {
    const { context, canvas, palette, matched } = this;
    const tree = /** @type {Tree} */ (this.tree);
    const { node } = box;
    const gap = Math.max(1, Math.round(ratio));
    const x = Math.max(0, Math.round(box.x));
    const y = Math.round(box.y);
    const end = Math.min(canvas.width, Math.round(box.x + box.width));
    const width = Math.max(1, end - x - (box.width > 3 * gap ? gap : 0));
    const height = Math.max(1, Math.round(box.y + box.height) - y - 2 * gap);
    const isMatch = matched !== null && matched[node] === 1;
    context.beginPath();
    context.roundRect(x, y + gap, width, height, width > 8 ? 2 * ratio : 0);
    if (matched && !isMatch) { // what is below must not shine through
      context.fillStyle = palette.theme.paper;
      context.fill();
      context.globalAlpha = 0.38;
    }
    context.fillStyle = isMatch ? palette.theme.match : palette.of(tree, node);
    context.fill();
    if (this.form.hasFrames) {
      context.strokeStyle = palette.theme.paper;
      context.lineWidth = gap / 2;
      context.stroke();
    }
    if (width > 26 * ratio && box.height >= LINE_LEAST * ratio) {
      context.fillStyle = isMatch ? palette.theme.matchInk : palette.theme.ink;
      this.#label(box, x + PAD * ratio, width - 2 * PAD * ratio, y + box.line / 2, ratio);
    }
    context.globalAlpha = 1;
  }

  /** The name, and its share behind it when there is room.
   * @param {Box} box @param {number} x @param {number} room @param {number} y
   * @param {number} ratio */
  #label(box, x, room, y, ratio) {
    const tree = /** @type {Tree} */ (this.tree);
    const name = this.#name(box);
    const width = this.#width(name);
    this.context.fillText(width <= room ? name : this.#shortened(name, room), x, y + 0.5 * ratio);
    const part = share(tree.weight[box.node], tree.whole);
    const partWidth = this.#width(part);
    if (box.node === 0 || width + partWidth + 16 * ratio > room) return;
    const alpha = this.context.globalAlpha;
    this.context.globalAlpha = alpha * 0.62;
    this.context.fillText(part, x + room - partWidth, y + 0.5 * ratio);
    this.context.globalAlpha = alpha;
  }

  /** Of a box in place of several, the names of the first of them. @param {Box} box */
  #name({ node, from = node }) {
    const tree = /** @type {Tree} */ (this.tree);
    const names = [];
    for (let at = node; ; at = tree.parent[at]) {
      if (tree.depth[at] - tree.depth[from] < NAMES_MOST) names.push(tree.label(at));
      if (at === from) return oneLine(names.reverse().join(" › "), 300);
    }
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

  /** @param {Box} box @param {number} ratio */
  #outline({ x: left, y, width, height }, ratio) {
    const line = 1.5 * ratio;
    const x = Math.max(0, left);
    const end = Math.min(this.canvas.width, left + width);
    if (end < 0 || x > this.canvas.width || y < -height) return;
    this.context.strokeStyle = this.palette.theme.line;
    this.context.lineWidth = line;
    this.context.strokeRect(Math.round(x) + line / 2, Math.round(y) + ratio,
      Math.max(line, Math.round(end - x) - line - ratio), height - 2 * ratio);
  }

  /** The node at a place of the canvas, or -1. @param {MouseEvent} event */
  #at(event) {
    if (!this.tree || this.move) return -1;
    const box = this.canvas.getBoundingClientRect();
    const look = this.#look();
    return this.form.at(look, ((event.clientX - box.left) / box.width) * look.width,
      (event.clientY - box.top) * look.ratio);
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
