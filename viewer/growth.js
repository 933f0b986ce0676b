// SPDX-License-Identifier: MIT
// What one snapshot of the heap has more than another. What holds an object may change between them,
// a function that ran for one, so paths are compared from the last object on that has a name in
// both, or is new and large: such objects are below the root, and what only they hold is below them.

/** @typedef {import("./data.js").View} View */
/** @typedef {import("./data.js").Recording} Recording */

const OBJECT = 9; // the kind of a frame that is an object and not a type
const LARGE = 0.01; // of the growth, which makes an object worth a name

/** Paths that are made as they are met; node 0 is the root. */
class Paths {
  constructor() {
    this.parent = [0];
    this.frame = [0];
    /** @type {Map<string, number>} */
    this.known = new Map();
  }

  /** @param {number} parent @param {number} frame */
  below(parent, frame) {
    const key = `${parent} ${frame}`;
    let node = this.known.get(key);
    if (node === undefined) {
      node = this.parent.push(parent) - 1;
      this.frame.push(frame);
      this.known.set(key, node);
    }
    return node;
  }
}

/** What each node has itself. @param {View} view @param {string} id @param {string} weight */
function ownValues(view, id, weight) {
  const column = view.values[id === weight ? "self" : id] ?? [];
  const own = view.parent.map((_, node) => column[node] ?? 0);
  if (id !== weight && id !== "self")
    view.parent.forEach((parent, node) => {
      if (node) own[parent] -= column[node] ?? 0;
    });
  return own;
}

/** The nodes of a view among the paths. @param {View} view @param {Paths} paths
 * @param {(frame: number) => boolean} isObject @param {Set<number>} named */
function fold(view, paths, isObject, named) {
  const at = [0];
  view.parent.forEach((parent, node) => {
    const frame = view.frame[node];
    if (!node) return;
    if (!isObject(frame)) at[node] = paths.below(at[parent], frame);
    else at[node] = named.has(frame) ? paths.below(0, frame) : at[parent];
  });
  return at;
}

/** Depth first, as views have them. @param {number[]} parent @param {boolean[]} isKept */
function order(parent, isKept) {
  /** @type {number[][]} */
  const children = parent.map(() => []);
  parent.forEach((above, node) => node && isKept[node] && children[above].push(node));
  const found = [];
  for (const waiting = [0]; waiting.length; ) {
    const node = /** @type {number} */ (waiting.pop());
    found.push(node);
    waiting.push(...children[node].reverse());
  }
  return found;
}

/** Objects that are told by name. Which of many that are alike have one is chance, so these have
 * none. @param {Recording} recording @param {View} view @param {View} since
 * @param {(frame: number) => boolean} isObject */
function namedObjects({ weight }, view, since, isObject) {
  const before = new Set(since.frame.filter(isObject));
  const total = view.values[weight] ?? [];
  const least = LARGE * Math.abs((total[0] ?? 0) - (since.values[weight]?.[0] ?? 0));
  return new Set(view.frame.filter((frame, node) =>
    isObject(frame) && (before.has(frame) || total[node] >= least)));
}

/** What a snapshot has more than another one, or less.
 * @param {Recording} recording @param {View} view @param {View} since @returns {View} */
export function growth(recording, view, since) {
  const isObject = (/** @type {number} */ frame) => recording.frames.kind[frame] === OBJECT;
  const named = namedObjects(recording, view, since, isObject);
  const paths = new Paths();
  const places = [fold(view, paths, isObject, named), fold(since, paths, isObject, named)];
  const isKept = paths.parent.map(() => false);
  /** @type {Record<string, number[]>} */
  const sums = {};
  for (const { id } of recording.metrics) {
    const sum = paths.parent.map(() => 0);
    ownValues(view, id, recording.weight).forEach((value, node) => (sum[places[0][node]] += value));
    ownValues(since, id, recording.weight).forEach((value, node) => (sum[places[1][node]] -= value));
    for (let node = sum.length - 1; node > 0; node--) {
      isKept[node] ||= sum[node] !== 0;
      isKept[paths.parent[node]] ||= isKept[node];
      if (id !== "self") sum[paths.parent[node]] += sum[node];
    }
    sums[id] = sum;
  }
  const nodes = order(paths.parent, isKept);
  const place = new Map(nodes.map((node, index) => [node, index]));
  return { kind: view.kind, name: `${view.name} – ${since.name}`, isGrowth: true,
    parent: nodes.map((node) => place.get(paths.parent[node]) ?? 0),
    frame: nodes.map((node) => paths.frame[node]),
    values: Object.fromEntries(Object.entries(sums).map(
      ([id, sum]) => [id, nodes.map((node) => sum[node])])) };
}
