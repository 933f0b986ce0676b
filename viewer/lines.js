// SPDX-License-Identifier: MIT
// Lines: the functions by their time, and the source of one with what each line cost. A line
// opens to show what it called.
import { timeOf, valueOf, wholeOf } from "./data.js";
import { codeLine, oneLine, plural, share, withUnit } from "./format.js";
import { make } from "./table.js";

/**
 * @typedef {import("./data.js").Recording} Recording
 * @typedef {import("./data.js").LineFunction} LineFunction
 * @typedef {import("./data.js").LineColumn} LineColumn
 * @typedef {{line: number, callee: number}} Place a line of the function, or a callee (0 and on)
 */

const FUNCTIONS_MOST = 1000; // in the list at once; a search finds the others
const LINES_MOST = 6000; // in the document at once

/** What a cell says of a line's or callee's values: nothing for zeros of some columns, nor for
 * the share of a callee that recursion made more than its function's.
 * @param {LineColumn} column @param {number[]} values @param {LineFunction} func
 * @param {number} whole what shares are of */
function lineCell(column, values, func, whole) {
  const value = values[column.metric];
  if (column.form === "count") return withUnit(value, "count");
  if (value === 0 && !column.always) return "";
  if (column.form === "time") return withUnit(value, "ns");
  if (column.form === "share")
    return value > func.totals[column.metric] ? "" : share(value, whole);
  return values[0] ? withUnit(value / values[0], "ns") : "";
}

export class LinesView {
  /**
   * @param {{list: HTMLElement, more: HTMLElement, title: HTMLElement, source: HTMLElement}} parts
   * @param {Recording} recording @param {{pick: (index: number) => void}} events
   */
  constructor(parts, recording, events) {
    const lines = /** @type {import("./data.js").Lines} */ (recording.lines);
    this.parts = parts;
    this.recording = recording;
    this.columns = lines.columns;
    this.events = events;
    /** The longest first. */
    this.functions = [...lines.functions].sort((a, b) =>
      timeOf(b) - timeOf(a));
    this.whole = wholeOf(recording);
    this.index = 0;
    /** Those that match the search, as indices. @type {number[]} */
    this.shown = [];
    /** Lines that are open. @type {Set<number>} */
    this.open = new Set();
    /** The rows of the source, and the one that keys act on. @type {Place[]} */
    this.rows = [];
    this.cursor = 0;
    this.linesMost = LINES_MOST;
    parts.list.addEventListener("click", (event) => this.#clickList(event));
    parts.list.addEventListener("keydown", (event) => this.#keyList(event));
    parts.source.addEventListener("click", (event) => this.#clickSource(event));
    parts.source.addEventListener("keydown", (event) => this.#keySource(event));
  }

  /** @param {number} index */
  name(index) {
    return this.#frameName(this.functions[index].frame);
  }

  /** @param {number} frame */
  #frameName(frame) {
    const { strings, frames } = this.recording;
    return strings[frames.name[frame]];
  }

  /** @param {number} frame */
  #framePlace(frame) {
    const { strings, frames } = this.recording;
    const file = strings[frames.file[frame]];
    return file ? `${file}:${frames.line[frame]}` : "";
  }

  /** A short name of the function that outlives a new export. @param {number} index */
  key(index) {
    return `${this.name(index)}:${this.recording.frames.line[this.functions[index].frame]}`;
  }

  /** @param {string} key @returns {number} the first one when there is none */
  indexOf(key) {
    return Math.max(0, this.functions.findIndex((_, index) => this.key(index) === key));
  }

  /** Shows those whose name or place matches; says how many do.
   * @param {((name: string) => boolean) | null} test */
  filter(test) {
    this.shown = [];
    this.functions.forEach((func, index) => {
      const place = this.#framePlace(func.frame);
      if (!test || test(this.name(index)) || test(place)) this.shown.push(index);
    });
    this.#drawList();
    return this.shown.length;
  }

  /** @param {number} index */
  show(index) {
    this.index = index;
    this.open.clear();
    this.cursor = 0;
    this.linesMost = LINES_MOST;
    this.#drawList();
    this.#drawTitle();
    this.#drawSource();
    this.parts.source.scrollTop = this.parts.source.scrollLeft = 0;
  }

  #drawList() {
    const { list, more } = this.parts;
    const shown = this.shown.slice(0, FUNCTIONS_MOST);
    list.replaceChildren(...shown.map((index) => this.#option(index)));
    list.setAttribute("aria-activedescendant", `function-${this.index}`);
    list.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
    const hidden = this.shown.length - shown.length;
    more.textContent = hidden ? `${plural(hidden, "more", "more")}: search to find them`
      : this.shown.length ? "" : "No function matches";
    more.hidden = more.textContent === "";
  }

  /** @param {number} index */
  #option(index) {
    const func = this.functions[index];
    const time = timeOf(func);
    const option = make("div", "function");
    option.id = `function-${index}`;
    option.dataset.index = String(index);
    option.setAttribute("role", "option");
    option.setAttribute("aria-selected", String(index === this.index));
    const name = make("span", "text", oneLine(this.name(index), 200));
    const place = this.#framePlace(func.frame);
    option.title = oneLine(`${this.name(index)}  ${place}`, 600);
    const bar = make("span", "bar");
    bar.style.width = `${this.whole.weight ? (time / this.whole.weight) * 100 : 0}%`;
    const part = make("span", "share");
    const ran = func.totals.some((total) => total > 0);
    part.append(bar, make("span", "over", ran ? share(time, this.whole.weight) : ""));
    if (!ran) option.classList.add("never");
    option.append(name, make("span", "spent", ran ? withUnit(time, "ns") : "never ran"),
      make("span", "place", oneLine(place.split("/").pop() || "no file", 200)), part);
    return option;
  }

  #drawTitle() {
    const func = this.functions[this.index];
    const place = make("code", "place", oneLine(this.#framePlace(func.frame), 300));
    const time = timeOf(func);
    const facts = [withUnit(time, "ns")];
    if (func.calls !== null) facts.push(plural(func.calls, "call"));
    if (this.functions.length > 1) facts.push(`${share(time, this.whole.weight)} of ${this.whole.name}`);
    this.parts.title.replaceChildren(
      make("h2", "", oneLine(this.name(this.index), 300)), place,
      make("span", "facts-line", facts.join(" · ")));
    if (func.note) this.parts.title.append(make("p", "note", func.note));
  }

  /** @returns {LineColumn[]} */
  #present() {
    return this.functions[this.index].columns.map((index) => this.columns[index]);
  }

  /** Where room is scarce, columns that only some functions have are left out.
   * @param {LineColumn} column */
  #cellClass(column) {
    return column.always ? column.form : `${column.form} extra`;
  }

  #drawSource() {
    const func = this.functions[this.index];
    const table = make("table", "code");
    const body = make("tbody", "");
    this.rows = [];
    const lines = func.lines.slice(0, this.linesMost);
    lines.forEach(([, , , callees], line) => {
      body.append(this.#line(line));
      this.rows.push({ line, callee: -1 });
      if (!this.open.has(line)) return;
      callees.forEach((_, callee) => {
        body.append(this.#callee(line, callee));
        this.rows.push({ line, callee });
      });
    });
    table.append(this.#head(), body);
    this.parts.source.replaceChildren(table);
    if (func.lines.length > lines.length) {
      const all = make("button", "quiet all", `Show all ${plural(func.lines.length, "line")}`);
      all.setAttribute("type", "button");
      this.parts.source.append(all);
    }
    this.#drawCursor();
  }

  #head() {
    const head = make("thead", "");
    const row = make("tr", "");
    row.append(make("th", "number", "Line"), ...this.#present().map((column) => {
      const cell = make("th", this.#cellClass(column), column.label);
      cell.title = column.form === "share" ? `share of ${this.whole.name}` : column.about;
      return cell;
    }), make("th", "text", "Source"));
    for (const cell of row.children) cell.setAttribute("scope", "col");
    head.append(row);
    return head;
  }

  /** @param {HTMLElement} row @param {number[] | null} values */
  #addCells(row, values) {
    const func = this.functions[this.index];
    for (const column of this.#present()) {
      const ran = values?.some((value) => value > 0) ?? false;
      const told = values && (ran || column.form === "count");
      const cell = make("td", this.#cellClass(column), told
        ? lineCell(column, values, func, this.whole.weight) : "");
      if (values && !ran && column.id === "time") cell.textContent = "never ran";
      if (ran && values && column.form === "share" && cell.textContent) {
        const bar = make("span", "bar");
        const whole = this.whole.weight;
        bar.style.width = `${whole ? Math.min(1, values[column.metric] / whole) * 100 : 0}%`;
        cell.replaceChildren(bar, make("span", "over", cell.textContent ?? ""));
      }
      row.append(cell);
    }
  }

  /** @param {number} line */
  #line(line) {
    const func = this.functions[this.index];
    const [number, text, values, callees] = func.lines[line];
    const row = make("tr", values === null ? "plain" : "measured");
    const cell = make("td", "number");
    if (callees.length) {
      const open = this.open.has(line);
      const twist = make("button", "twist", open ? "▾" : "▸");
      twist.setAttribute("type", "button");
      twist.setAttribute("tabindex", "-1");
      twist.setAttribute("aria-expanded", String(open));
      twist.setAttribute("aria-label", `What line ${number} called`);
      row.classList.add("opens");
      cell.append(twist);
    }
    cell.append(String(number));
    row.append(cell);
    this.#addCells(row, values);
    if (values && !values.some((value) => value > 0)) row.classList.add("never");
    const whole = timeOf(func);
    const heat = values && whole ? Math.sqrt(Math.min(1, valueOf(values) / whole)) : 0;
    row.style.setProperty("--heat-share", `${(heat * 100).toFixed(1)}%`);
    row.append(make("td", "text", codeLine(text ?? "")));
    return row;
  }

  /** @param {number} line @param {number} callee */
  #callee(line, callee) {
    const [, text, , callees] = this.functions[this.index].lines[line];
    const { frame, values } = callees[callee];
    const row = make("tr", "callee");
    row.append(make("td", "number"));
    this.#addCells(row, values);
    const cell = make("td", "text", `${/^\s*/.exec(text ?? "")?.[0]}  → `);
    const linked = this.functions.some((func) => func.frame === frame);
    const name = make(linked ? "button" : "span", linked ? "link" : "",
      oneLine(this.#frameName(frame), 200));
    if (linked) {
      name.setAttribute("type", "button");
      name.setAttribute("tabindex", "-1");
      name.title = "Show its lines";
    }
    cell.append(name, make("span", "place", oneLine(this.#framePlace(frame) || " ", 200)));
    row.append(cell);
    return row;
  }

  #drawCursor() {
    this.parts.source.querySelector(".cursor")?.classList.remove("cursor");
    const row = this.parts.source.querySelectorAll("tbody tr")[this.cursor];
    row?.classList.add("cursor");
    return row;
  }

  /** @param {number} line */
  #toggle(line) {
    if (!this.functions[this.index].lines[line][3].length) return;
    if (!this.open.delete(line)) this.open.add(line);
    this.#drawSource();
    this.cursor = this.rows.findIndex((row) => row.line === line);
    this.#drawCursor();
  }

  /** Shows the lines of a callee, if it has some. @param {Place} row */
  #follow(row) {
    const { frame } = this.functions[this.index].lines[row.line][3][row.callee];
    const index = this.functions.findIndex((func) => func.frame === frame);
    if (index >= 0) this.events.pick(index);
  }

  /** @param {Event} event */
  #clickList(event) {
    const option = /** @type {Element} */ (event.target).closest(".function");
    if (option instanceof HTMLElement) this.events.pick(Number(option.dataset.index));
  }

  /** @param {KeyboardEvent} event */
  #keyList(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.shown.indexOf(this.index);
    /** @type {Record<string, number>} */
    const steps = { ArrowDown: at + 1, ArrowUp: Math.max(0, at - 1), Home: 0,
      End: Math.min(this.shown.length, FUNCTIONS_MOST) - 1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const next = this.shown[steps[event.key]];
    if (next !== undefined) this.events.pick(next);
  }

  /** @param {MouseEvent} event */
  #clickSource(event) {
    const target = /** @type {Element} */ (event.target);
    if (target.closest(".all")) {
      this.linesMost = Infinity;
      this.#drawSource();
      return;
    }
    const row = target.closest("tbody tr");
    const at = row ? [...this.parts.source.querySelectorAll("tbody tr")].indexOf(row) : -1;
    const selecting = getSelection()?.type === "Range";
    if (at < 0 || selecting) return;
    this.cursor = at;
    if (target.closest(".link")) this.#follow(this.rows[at]);
    else if (this.rows[at].callee < 0) this.#toggle(this.rows[at].line);
    this.#drawCursor();
  }

  /** @param {KeyboardEvent} event */
  #keySource(event) {
    const modified = event.ctrlKey || event.metaKey || event.altKey;
    const row = this.rows[this.cursor];
    if (!row || event.target !== this.parts.source || modified) return;
    const open = this.open.has(row.line);
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowDown: () => this.#moveTo(this.cursor + 1),
      ArrowUp: () => this.#moveTo(this.cursor - 1),
      Home: () => this.#moveTo(0),
      End: () => this.#moveTo(this.rows.length - 1),
      ArrowRight: () => { if (!open) this.#toggle(row.line); },
      ArrowLeft: () => { if (open) this.#toggle(row.line); },
      Enter: () => (row.callee < 0 ? this.#toggle(row.line) : this.#follow(row)),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  }

  /** @param {number} at */
  #moveTo(at) {
    this.cursor = Math.min(Math.max(at, 0), this.rows.length - 1);
    this.#drawCursor()?.scrollIntoView({ block: "nearest" });
  }
}
