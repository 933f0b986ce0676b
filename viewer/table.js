// SPDX-License-Identifier: MIT
// The same tree as rows: sorted among siblings, opened and closed, and only those in sight
// are in the document. The rows are rebuilt on each change; focus stays with the scroller.
import { oneLine, share, signed, withUnit } from "./format.js";

/** @typedef {import("./data.js").Tree} Tree */
/** @typedef {{id: string, label: string, about: string, unit: string}} Column */

const LINE = 28;
const INDENT_MOST = 30; // levels; deeper rows say how deep they are
const ROWS_MOST = 500000; // browsers limit the height of an element
const OPEN_ALL_MOST = 80;

/** @param {string} tag @param {string} name @param {string} [text] */
export function make(tag, name, text) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text !== undefined) element.textContent = text;
  return element;
}

export class Table {
  /**
   * @param {HTMLElement} scroller @param {import("./colour.js").Palette} palette
   * @param {Column[]} columns
   * @param {{pick: (node: number) => void, point: (node: number) => void,
   *   rows: (shown: number, all: number) => void}} events
   */
  constructor(scroller, palette, columns, events) {
    this.scroller = scroller;
    this.palette = palette;
    this.columns = columns;
    this.events = events;
    this.sort = { id: columns[1].id, down: true };
    /** @type {Tree | null} */
    this.tree = null;
    /** @type {Uint8Array | null} */
    this.matched = null;
    this.open = new Uint8Array(0);
    /** @type {number[]} */
    this.rows = [];
    this.cursor = 0;
    this.zoomed = 0;
    this.head = make("div", "row head");
    this.body = make("div", "body");
    scroller.style.setProperty("--columns", columns.map(({ id }) =>
      id === "name" ? "minmax(240px, 1fr)" : id === "share" ? "108px" : "100px").join(" "));
    this.body.setAttribute("role", "rowgroup");
    scroller.append(this.head, this.body);
    scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    scroller.addEventListener("keydown", (event) => this.#key(event));
    this.body.addEventListener("click", (event) => this.#click(event));
    this.body.addEventListener("pointerover", (event) => events.point(this.#nodeOf(event)));
    this.body.addEventListener("pointerleave", () => events.point(-1));
    new ResizeObserver(() => this.draw()).observe(scroller);
    this.#makeHead();
  }

  /** @param {Tree} tree */
  show(tree) {
    this.tree = tree;
    this.cursor = this.zoomed = 0;
    this.matched = null;
    this.#openLarge();
    this.scroller.scrollTop = 0;
    this.refresh();
  }

  /** @param {Uint8Array | null} matched */
  highlight(matched) {
    this.matched = matched;
    this.draw();
  }

  /** Opens what is above the node and brings its row into sight. @param {number} node */
  reveal(node) {
    const { tree } = this;
    if (!tree) return;
    let changed = false;
    for (let at = node; at !== 0; at = tree.parent[at]) {
      changed ||= this.open[tree.parent[at]] === 0;
      this.open[tree.parent[at]] = 1;
    }
    this.cursor = node;
    if (changed) this.refresh();
    this.#scrollTo(this.rows.indexOf(node));
    this.draw();
  }

  /** @param {boolean} open */
  setAll(open) {
    this.open.fill(open ? 1 : 0);
    if (!open) this.open[0] = 1;
    this.cursor = open ? this.cursor : 0;
    this.refresh();
  }

  /** A small tree is open; a large one is open where much of the time is. */
  #openLarge() {
    const tree = /** @type {Tree} */ (this.tree);
    this.open = new Uint8Array(tree.count);
    for (let i = 0; i < tree.count; i++)
      this.open[i] = Number(tree.count <= OPEN_ALL_MOST || i === 0 ||
        (tree.depth[i] < 8 && tree.span[i] >= tree.span[0] * 0.04));
  }

  /** Lists the rows anew: after sorting, opening or closing. */
  refresh() {
    const tree = /** @type {Tree} */ (this.tree);
    const compare = this.#comparison();
    const stack = [0];
    this.rows = [];
    while (stack.length && this.rows.length < ROWS_MOST) {
      const node = /** @type {number} */ (stack.pop());
      this.rows.push(node);
      if (!this.open[node]) continue;
      const children = tree.children(node).sort(compare);
      for (let i = children.length - 1; i >= 0; i--) stack.push(children[i]);
    }
    this.body.style.height = `${this.rows.length * LINE}px`;
    this.scroller.setAttribute("aria-rowcount", String(this.rows.length + 1));
    this.events.rows(this.rows.length, tree.count);
    this.draw();
  }

  /** @returns {(a: number, b: number) => number} */
  #comparison() {
    const tree = /** @type {Tree} */ (this.tree);
    const sign = this.sort.down ? -1 : 1;
    if (this.sort.id === "name")
      return (a, b) => sign * tree.name(a).localeCompare(tree.name(b)) || a - b;
    const values = this.sort.id === "share" ? tree.weight : tree.column(this.sort.id);
    return (a, b) => sign * (values[a] - values[b]) || a - b;
  }

  #makeHead() {
    this.head.setAttribute("role", "row");
    this.head.replaceChildren(...this.columns.map((column) => {
      const sorted = column.id === this.sort.id;
      const cell = make("div", column.id === "name" ? "cell name" : "cell");
      const button = make("button", sorted ? "sort on" : "sort", column.label);
      cell.setAttribute("role", "columnheader");
      const order = this.sort.down ? "descending" : "ascending";
      cell.setAttribute("aria-sort", sorted ? order : "none");
      button.title = column.about;
      button.setAttribute("type", "button");
      if (sorted) button.append(make("span", "arrow", this.sort.down ? "▾" : "▴"));
      button.addEventListener("click", () => this.#sortBy(column.id));
      cell.append(button);
      return cell;
    }));
  }

  /** @param {string} id */
  #sortBy(id) {
    this.sort = { id, down: this.sort.id === id ? !this.sort.down : id !== "name" };
    this.#makeHead();
    this.refresh();
  }

  /** Puts the rows in sight into the document. */
  draw() {
    if (!this.tree) return;
    const { scrollTop, clientHeight } = this.scroller;
    const first = Math.max(0, Math.floor(scrollTop / LINE) - 4);
    const last = Math.min(this.rows.length, Math.ceil((scrollTop + clientHeight) / LINE) + 4);
    const lines = [];
    for (let i = first; i < last; i++) lines.push(this.#row(i));
    this.body.replaceChildren(...lines);
    this.scroller.setAttribute("aria-activedescendant", `row-${this.cursor}`);
  }

  /** @param {number} index */
  #row(index) {
    const tree = /** @type {Tree} */ (this.tree);
    const node = this.rows[index];
    const row = make("div", "row");
    row.id = `row-${node}`;
    row.dataset.node = String(node);
    row.style.top = `${index * LINE}px`;
    row.setAttribute("role", "row");
    row.setAttribute("aria-level", String(tree.depth[node] + 1));
    row.setAttribute("aria-rowindex", String(index + 2));
    if (tree.hasChildren(node)) row.setAttribute("aria-expanded", String(this.open[node] === 1));
    row.setAttribute("aria-selected", String(node === this.zoomed && node !== 0));
    if (node === this.cursor) row.classList.add("cursor");
    if (this.matched) row.classList.add(this.matched[node] ? "match" : "other");
    row.append(...this.columns.map((column) => this.#cell(node, column)));
    return row;
  }

  /** @param {number} node @param {Column} column */
  #cell(node, column) {
    const tree = /** @type {Tree} */ (this.tree);
    if (column.id === "name") return this.#nameCell(node);
    const cell = make("div", "cell");
    cell.setAttribute("role", "gridcell");
    if (column.id === "share") {
      const bar = make("span", "bar");
      bar.style.width = `${Math.min(1, tree.span[node] / (tree.span[0] || 1)) * 100}%`;
      cell.append(bar, make("span", "over", share(tree.weight[node], tree.whole)));
      cell.classList.add("share");
      return cell;
    }
    const value = tree.column(column.id)[node];
    const inUnit = tree.view.isGrowth ? signed : withUnit;
    cell.textContent = value === 0 ? "–" : inUnit(value, column.unit);
    if (value === 0) cell.classList.add("none");
    return cell;
  }

  /** @param {number} node */
  #nameCell(node) {
    const tree = /** @type {Tree} */ (this.tree);
    const depth = tree.depth[node];
    const cell = make("div", "cell name");
    const swatch = make("span", "swatch");
    const name = oneLine(tree.label(node));
    cell.setAttribute("role", "gridcell");
    cell.style.paddingLeft = `${10 + Math.min(depth, INDENT_MOST) * 14}px`;
    const twist = this.open[node] ? "▾" : "▸";
    cell.append(make("span", "twist", tree.hasChildren(node) ? twist : ""));
    if (depth > INDENT_MOST) cell.append(make("span", "level", `+${depth - INDENT_MOST}`));
    swatch.style.background = this.palette.of(tree, node);
    const text = make("span", "text", name);
    text.title = [name, tree.place(node)].filter(Boolean).join("\n");
    cell.append(swatch, text);
    return cell;
  }

  /** @param {Event} event */
  #nodeOf(event) {
    const row = /** @type {Element} */ (event.target).closest(".row");
    return row instanceof HTMLElement ? Number(row.dataset.node) : -1;
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const node = this.#nodeOf(event);
    if (node < 0) return;
    this.cursor = node;
    const twist = /** @type {Element} */ (event.target).closest(".twist");
    if (twist && this.tree?.hasChildren(node)) this.#setOpen(node, !this.open[node]);
    else this.events.pick(node);
  }

  /** @param {number} node @param {boolean} open */
  #setOpen(node, open) {
    this.open[node] = open ? 1 : 0;
    this.refresh();
  }

  /** @param {number} index */
  #scrollTo(index) {
    if (index < 0) return;
    const { scrollTop, clientHeight } = this.scroller;
    const top = index * LINE;
    const room = clientHeight - LINE * 2; // the head covers one line
    if (top < scrollTop) this.scroller.scrollTop = top;
    else if (top > scrollTop + room) this.scroller.scrollTop = top - Math.max(0, room / 2);
  }

  /** @param {number} index */
  #moveTo(index) {
    const at = Math.min(Math.max(index, 0), this.rows.length - 1);
    this.cursor = this.rows[at];
    const { scrollTop, clientHeight } = this.scroller;
    const least = (at + 2) * LINE - clientHeight;
    this.scroller.scrollTop = Math.min(at * LINE, Math.max(scrollTop, least));
    this.draw();
    this.events.point(this.cursor);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const tree = this.tree;
    const modified = event.ctrlKey || event.metaKey || event.altKey;
    if (!tree || event.target !== this.scroller || modified) return;
    const node = this.cursor;
    const at = this.rows.indexOf(node);
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / LINE) - 2);
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: () => this.#moveTo(at + 1),
      ArrowUp: () => this.#moveTo(at - 1),
      PageDown: () => this.#moveTo(at + page),
      PageUp: () => this.#moveTo(at - page),
      Home: () => this.#moveTo(0),
      End: () => this.#moveTo(this.rows.length - 1),
      ArrowRight: () => (tree.hasChildren(node) && !this.open[node]
        ? this.#setOpen(node, true) : this.#moveTo(at + 1)),
      ArrowLeft: () => (tree.hasChildren(node) && this.open[node]
        ? this.#setOpen(node, false) : this.#moveTo(this.rows.indexOf(tree.parent[node]))),
      Enter: () => this.events.pick(node),
      " ": () => this.events.pick(node),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  }
}
