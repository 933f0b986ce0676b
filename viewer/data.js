// SPDX-License-Identifier: MIT
// The recording as columns of numbers. Nodes are in depth-first order, a node's subtree is the
// run [node, end[node]), and nothing here recurses: a path may be 100,000 frames deep.

/**
 * @typedef {{id: string, unit: string, column: boolean, about: string,
 *   label?: string}} Metric
 * @typedef {{pid: number, start_ms: number, duration_ns: number, program: string, argv: string,
 *   host: string, cwd: string, python: string, dwell: string}} Process
 * @typedef {{kind: string, name: string, parent: number[], frame: number[],
 *   values: Record<string, number[]>, isGrowth?: boolean}} View values of growth may be negative
 * @typedef {{dwell: string, threads: number, processes: Process[], warnings: string[], sampling: string[],
 *   weight: string, whole: string, metrics: Metric[], strings: string[],
 *   frames: {name: number[], file: number[], line: number[], kind: number[]}, views: View[],
 *   within?: string, name?: [string, string], lines?: Lines}} Recording
 * @typedef {{id: string, label: string, metric: number, form: string, always: boolean,
 *   about: string}} LineColumn
 * @typedef {{frame: number, values: number[]}} Callee
 * @typedef {[number, string | null, number[] | null, Callee[]]} Line its number, text, metrics if
 *   there is code on it, and callees
 * @typedef {{frame: number, calls: number | null, note: string, totals: number[],
 *   columns: number[], lines: Line[]}} LineFunction
 * @typedef {{columns: LineColumn[], functions: LineFunction[]}} Lines
 */

const TIME_METRIC = 1;
const SAMPLED_METRIC = 6;

/** The time of a line, whoever measured it. @param {number[]} values */
export function valueOf(values) {
  return values[TIME_METRIC] || values[SAMPLED_METRIC];
}

/** @param {LineFunction} func */
export function timeOf(func) {
  return valueOf(func.totals);
}

/** @param {Metric} metric */
export function labelOf({ id, label }) {
  return label ?? id[0].toUpperCase() + id.slice(1);
}

/** The whole of all shares on the page: the root of all threads; where only lines were
 * recorded, the run or its longest function. @param {Recording} recording */
export function wholeOf(recording) {
  const { views, weight, whole, processes, lines } = recording;
  const root = views[0]?.values[weight]?.[0] ?? 0;
  const run = processes.reduce((sum, process) => sum + process.duration_ns, 0);
  const longest = (lines?.functions ?? []).reduce((most, func) => Math.max(most, timeOf(func)), 0);
  if (root >= longest && root > 0) return { weight: root, name: whole };
  return run >= longest ? { weight: run, name: "the run" }
    : { weight: longest, name: "the longest function" };
}

/** One view's tree, laid out: each node has a start and a span on a line of weight. */
export class Tree {
  /** @param {Recording} recording @param {View} view */
  constructor(recording, view) {
    this.recording = recording;
    this.view = view;
    this.count = view.parent.length;
    this.parent = Uint32Array.from(view.parent);
    this.frame = Uint32Array.from(view.frame);
    this.depth = new Uint32Array(this.count);
    this.end = new Uint32Array(this.count);
    this.start = new Float64Array(this.count);
    this.span = new Float64Array(this.count);
    this.maxDepth = 0;
    this.zeros = new Float64Array(this.count);
    /** @type {Map<string, Float64Array>} */
    this.values = new Map();
    for (const [id, column] of Object.entries(view.values))
      this.values.set(id, Float64Array.from(column));
    const weight = this.column(recording.weight);
    this.weight = view.isGrowth ? weight.map((value) => Math.max(0, value)) : weight;
    this.whole = wholeOf(recording).weight;
    this.#layOut();
    if (view.isGrowth) this.whole = this.span[0]; // of all that became more
  }

  /** Threads and tasks overlap, so what is inside may add up to more than the node itself:
   * a node spans the larger of the two. */
  #layOut() {
    const { parent, depth, end, start, span } = this;
    const inside = new Float64Array(this.count);
    for (let i = this.count - 1; i >= 0; i--) {
      end[i] = Math.max(end[i], i + 1);
      span[i] = Math.max(this.weight[i], inside[i]);
      if (i === 0) break;
      end[parent[i]] = Math.max(end[parent[i]], end[i]);
      inside[parent[i]] += span[i];
    }
    const next = new Float64Array(this.count);
    for (let i = 1; i < this.count; i++) {
      depth[i] = depth[parent[i]] + 1;
      this.maxDepth = Math.max(this.maxDepth, depth[i]);
      start[i] = start[parent[i]] + next[parent[i]];
      next[parent[i]] += span[i];
    }
  }

  /** @param {string} metric */
  column(metric) {
    return this.values.get(metric) ?? this.zeros;
  }

  /** @param {number} node */
  name(node) {
    const { strings, frames } = this.recording;
    return node === 0 ? this.view.name : strings[frames.name[this.frame[node]]];
  }

  /** The name; a "<module>" also says which one it is. @param {number} node */
  label(node) {
    const name = this.name(node);
    const { strings, frames } = this.recording;
    const parts = name === "<module>" ? strings[frames.file[this.frame[node]]].split("/") : [""];
    const base = parts[parts.length - 1];
    const file = base.startsWith("__") ? parts.slice(-2).join("/") : base;
    return file ? `${name} (${file})` : name;
  }

  /** "file:line", or nothing. @param {number} node */
  place(node) {
    const { strings, frames } = this.recording;
    const file = strings[frames.file[this.frame[node]]];
    const line = frames.line[this.frame[node]];
    return file && line ? `${file}:${line}` : file;
  }

  /** @param {number} node */
  hasChildren(node) {
    return this.end[node] > node + 1;
  }

  /** @param {number} node @returns {number[]} */
  children(node) {
    const found = [];
    for (let child = node + 1; child < this.end[node]; child = this.end[child]) found.push(child);
    return found;
  }

  /** From the root down to the node. @param {number} node @returns {number[]} */
  ancestry(node) {
    const found = [node];
    for (; node !== 0; node = this.parent[node]) found.push(this.parent[node]);
    return found.reverse();
  }
}

/** A test of names from what was typed: part of a name, or /regex/flags. Null for nothing typed.
 * @param {string} text @returns {((name: string) => boolean) | null} throws on a bad pattern */
export function matcher(text) {
  const pattern = /^\/(.+)\/([a-z]*)$/s.exec(text);
  if (pattern) {
    const regex = new RegExp(pattern[1], pattern[2].replace(/[gy]/g, ""));
    return (name) => regex.test(name);
  }
  const plain = text.toLowerCase();
  return plain ? (name) => name.toLowerCase().includes(plain) : null;
}

/** Which nodes match, and the weight of the outermost ones: recursion counts once.
 * @param {Tree} tree @param {(name: string) => boolean} test */
export function findMatches(tree, test) {
  const { strings, frames } = tree.recording;
  const byFrame = frames.name.map((name) => test(strings[name]));
  const matched = new Uint8Array(tree.count);
  let count = 0;
  let weight = 0;
  let until = 0;
  for (let i = 0; i < tree.count; i++) {
    if (!(i === 0 ? test(tree.name(0)) : byFrame[tree.frame[i]])) continue;
    matched[i] = 1;
    count++;
    if (i < until) continue;
    weight += tree.weight[i];
    until = tree.end[i];
  }
  return { matched, count, weight };
}

/** A short name for the node that outlives a new export: its names, or "@index" when those are
 * long or not the only ones. @param {Tree} tree @param {number} node */
export function nodeKey(tree, node) {
  if (tree.depth[node] > 40) return `@${node}`;
  const key = tree.ancestry(node).slice(1).map((at) => encode(tree.name(at))).join("/");
  return key.length < 1500 && nodeOf(tree, key) === node ? key : `@${node}`;
}

/** @param {Tree} tree @param {string} key @returns {number} the root when there is no such node */
export function nodeOf(tree, key) {
  if (/^@\d+$/.test(key)) return Math.min(Number(key.slice(1)), tree.count - 1);
  let node = 0;
  for (const part of key === "" ? [] : key.split("/")) {
    const name = decode(part);
    const child = tree.children(node).find((c) => tree.name(c) === name);
    if (child === undefined) return node;
    node = child;
  }
  return node;
}

/** Works for any text, even with half a surrogate pair. @param {string} text */
export function encode(text) {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, "\ufffd"));
}

/** @param {string} text */
export function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
