// SPDX-License-Identifier: MIT
// All there is to say about a node, beside the pointer.
import { labelOf } from "./data.js";
import { oneLine, share, signed, withUnit } from "./format.js";
import { make } from "./table.js";

const NEAREST = 4; // of those around a node that are told

/** @param {import("./data.js").Tree} tree @param {number} node @returns {[string, string][]} */
export function describe(tree, node) {
  const { weight, metrics } = tree.recording;
  /** @type {[string, string][]} */
  const lines = [];
  for (const metric of metrics) {
    const { id, unit } = metric;
    const value = tree.column(id)[node];
    const inUnit = tree.view.isGrowth ? signed : withUnit;
    if (value !== 0 && id !== "suspended")
      lines.push([labelOf(metric).toLowerCase(), inUnit(value, unit)]);
    if (id !== weight || value < 0) continue;
    lines.push(["of all", share(value, tree.whole)]);
    if (node !== 0) lines.push(["of parent", share(value, tree.weight[tree.parent[node]])]);
  }
  const asleep = tree.column("suspended")[node];
  if (asleep > 0) {
    lines.push(["active", withUnit(Math.max(0, tree.weight[node] - asleep), "ns")]);
    lines.push(["suspended", withUnit(asleep, "ns")]);
  }
  return lines;
}

export class Tip {
  /** @param {HTMLElement} box */
  constructor(box) {
    this.box = box;
    this.node = -1;
    /** @type {import("./data.js").Tree | null} */
    this.tree = null;
  }

  hide() {
    this.box.hidden = true;
    this.node = -1;
  }

  /** @param {import("./data.js").Tree} tree @param {number} node @param {MouseEvent} event */
  show(tree, node, event) {
    if (node !== this.node || tree !== this.tree) this.#fill(tree, node);
    this.tree = tree;
    this.node = node;
    this.box.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.box;
    const right = event.clientX + 16;
    const x = right + width > innerWidth ? event.clientX - width - 12 : right;
    const y = Math.min(event.clientY + 18, innerHeight - height - 8);
    this.box.style.left = `${Math.max(8, x)}px`;
    this.box.style.top = `${Math.max(8, y)}px`;
  }

  /** @param {import("./data.js").Tree} tree @param {number} node */
  #fill(tree, node) {
    const list = make("dl", "");
    const lines = describe(tree, node);
    list.style.gridTemplateRows = `repeat(${Math.ceil(lines.length / 2)}, auto)`;
    for (const [label, value] of lines) {
      const pair = make("div", "");
      pair.append(make("dt", "", label), make("dd", "", value));
      list.append(pair);
    }
    this.box.replaceChildren(make("strong", "", oneLine(tree.name(node), 240)), list);
    const around = tree.ancestry(node).slice(1, -1).slice(-NEAREST).map((at) => tree.label(at));
    if (around.length) {
      const way = `${tree.recording.within ?? "in"} ${around.reverse().join(" ‹ ")}`;
      list.before(make("span", "within", oneLine(way, 240)));
    }
    const place = tree.place(node);
    if (place) this.box.append(make("code", "", oneLine(place, 240)));
  }
}
