// SPDX-License-Identifier: MIT
// The icicle: the root on top, what is inside below, as wide as its weight. Its sight is a range of
// weight, and the depth at the top.

/** @typedef {import("./data.js").Tree} Tree */
/** @typedef {import("./chart.js").Look} Look */
/** @typedef {import("./chart.js").Box} Box */

const LOW = 24; // pixels, of a row in a deep tree
const HIGH = 36; // and in a shallow one
const ROOM = 230; // pixels that the tree may take before its rows get lower
const TINY = 0.6; // pixels; narrower nodes are only hinted at

export class Icicle {
  constructor() {
    this.id = "icicle";
    this.about = "width";
    this.hasFrames = false;
    this.row = LOW;
  }

  /** @param {Tree} tree */
  height(tree) {
    this.row = Math.max(LOW, Math.min(HIGH, Math.floor(ROOM / (tree.maxDepth + 1))));
    return (tree.maxDepth + 1) * this.row + 2;
  }

  /** @param {Tree} tree @param {number} node */
  heightOf(tree, node) {
    let deepest = tree.depth[node];
    for (let i = node; i < tree.end[node]; i++) deepest = Math.max(deepest, tree.depth[i]);
    return (deepest - tree.depth[node] + 1) * this.row + 2;
  }

  /** @param {Tree} tree @param {number} node */
  sightOf(tree, node) {
    return [tree.start[node], tree.start[node] + (tree.span[node] || 1), tree.depth[node]];
  }

  /** @param {number[]} sight @param {number} pixels */
  scrolled([from, to, top], pixels) {
    return [from, to, top + pixels / this.row];
  }

  /** @param {Look} look @param {number} node @returns {Box} */
  place({ tree, sight: [from, to, top], width, ratio, scroll }, node) {
    const scale = width / (to - from);
    const row = this.row * ratio;
    return { node, x: (tree.start[node] - from) * scale, width: tree.span[node] * scale,
      y: Math.round((tree.depth[node] - top) * row - scroll), height: row, line: row };
  }

  /** @param {Look} look @param {(box: Box) => void} put
   * @param {(x: number, y: number, height: number) => void} hint */
  boxes(look, put, hint) {
    const { tree, width, height } = look;
    for (let i = 0; i < tree.count; ) {
      const box = this.place(look, i);
      const right = box.x + box.width;
      if (box.x >= width && i !== 0) i = tree.end[tree.parent[i]];
      else if (right <= 0 || box.y >= height) i = tree.end[i];
      else if (box.width < TINY) {
        hint(Math.round(box.x), box.y, box.height);
        i = tree.end[i];
      } else {
        if (box.y > -box.height) put(box);
        i++;
      }
    }
  }

  /** @param {Look} look @param {number} x @param {number} y */
  at({ tree, node, sight: [from, to, top], width, ratio, scroll }, x, y) {
    const at = from + (x / width) * (to - from);
    const depth = Math.floor((y + scroll) / (this.row * ratio) + top);
    while (tree.depth[node] < depth) {
      let child = node + 1;
      while (child < tree.end[node] && tree.start[child] + tree.span[child] <= at)
        child = tree.end[child];
      if (child >= tree.end[node] || tree.start[child] > at) return -1;
      node = child;
    }
    return node;
  }
}
