// SPDX-License-Identifier: MIT
// The treemap: what is inside a node is inside its box, and as large as its weight. Boxes are as near
// to squares as rows of them can be (Bruls, Huizing and van Wijk: Squarified treemaps, 2000). What a
// box has for itself stays free. A node that is nearly all of the one above shares its box.

/** @typedef {import("./data.js").Tree} Tree */
/** @typedef {import("./chart.js").Look} Look */
/** @typedef {import("./chart.js").Box} Box */
/** @typedef {{x: number, y: number, width: number, height: number}} Room */

const HEIGHT = 420; // pixels
const HEAD = 18; // of them for a name
const EDGE = 3;
const SIDE_LEAST = 3; // smaller boxes are left out
const NEARLY = 0.99;

/** How far from squares the boxes of a row are: the longest side by the shortest, at worst.
 * @param {number} sum of their areas @param {number} most @param {number} least
 * @param {number} side */
function worst(sum, most, least, side) {
  return Math.max((side * side * most) / (sum * sum), (sum * sum) / (side * side * least));
}

/** Takes a row of boxes, which are along the shorter side, off the room.
 * @param {Room} room @param {number[]} areas @param {(room: Room) => void} put */
function takeRow(room, areas, put) {
  const sum = areas.reduce((a, b) => a + b, 0);
  const isColumn = room.width >= room.height;
  const depth = sum / (isColumn ? room.height : room.width);
  let at = 0;
  for (const area of areas) {
    const side = area / depth;
    put(isColumn ? { x: room.x, y: room.y + at, width: depth, height: side }
      : { x: room.x + at, y: room.y, width: side, height: depth });
    at += side;
  }
  if (isColumn) Object.assign(room, { x: room.x + depth, width: room.width - depth });
  else Object.assign(room, { y: room.y + depth, height: room.height - depth });
}

/** Rooms of these areas, the largest first; they take no more than there is.
 * @param {Room} whole @param {number[]} areas @returns {Room[]} */
function squarified(whole, areas) {
  /** @type {Room[]} */
  const rooms = [];
  const room = { ...whole };
  for (let first = 0, end; first < areas.length; first = end) {
    const side = Math.min(room.width, room.height);
    let sum = areas[first];
    for (end = first + 1; end < areas.length; end++) {
      const next = sum + areas[end];
      if (worst(next, areas[first], areas[end], side)
        > worst(sum, areas[first], areas[end - 1], side)) break;
      sum = next;
    }
    takeRow(room, areas.slice(first, end), (box) => rooms.push(box));
  }
  return rooms;
}

export class Treemap {
  constructor() {
    this.id = "treemap";
    this.about = "area";
    this.hasFrames = true; // boxes of one colour may be inside each other
    /** Parents before what is in them. @type {Box[]} */
    this.laid = [];
    /** @type {Look | null} */
    this.laidFor = null;
  }

  height() {
    return HEIGHT;
  }

  heightOf() {
    return 0;
  }

  /** @returns {number[]} */
  sightOf() {
    return [];
  }

  /** @param {number[]} sight */
  scrolled(sight) {
    return sight;
  }

  /** @param {Look} look @param {(box: Box) => void} put */
  boxes(look, put) {
    const { tree, node, width, height } = look;
    const last = this.laidFor;
    if (last?.tree !== tree || last.node !== node || last.width !== width || last.height !== height)
      this.#layOut(look);
    this.laid.forEach(put);
  }

  /** @param {Look} look */
  #layOut(look) {
    const { tree, node, width, height, ratio } = look;
    this.laid = [];
    this.laidFor = look;
    const waiting = [{ node, x: 0, y: 0, width, height, line: HEAD * ratio }];
    for (let box; (box = waiting.pop()); ) {
      const shown = this.#innermost(tree, box);
      this.laid.push(shown);
      waiting.push(...this.#inside(tree, shown, ratio));
    }
  }

  /** The box of a node, as that of the last one which is nearly all of it.
   * @param {Tree} tree @param {Box} box @returns {Box} */
  #innermost(tree, box) {
    let { node } = box;
    for (let child = node; child >= 0; ) {
      node = child;
      child = tree.children(node).find((c) => tree.span[c] >= NEARLY * tree.span[node]) ?? -1;
    }
    return { ...box, node, from: box.node };
  }

  /** @param {Tree} tree @param {Box} box @param {number} ratio @returns {Box[]} */
  #inside(tree, { node, x, y, width, height }, ratio) {
    const edge = EDGE * ratio;
    const head = (HEAD + 1) * ratio;
    const room = { x: x + edge, y: y + head, width: width - 2 * edge, height: height - head - edge };
    const scale = (room.width * room.height) / tree.span[node];
    if (room.width < SIDE_LEAST * ratio || room.height < SIDE_LEAST * ratio || !(scale > 0)) return [];
    const inside = tree.children(node).filter((c) => tree.span[c] * scale >= (SIDE_LEAST * ratio) ** 2)
      .sort((a, b) => tree.span[b] - tree.span[a]);
    const rooms = squarified(room, inside.map((child) => tree.span[child] * scale));
    return rooms.map((box, i) => ({ ...box, node: inside[i], line: HEAD * ratio }))
      .filter((box) => Math.min(box.width, box.height) >= SIDE_LEAST * ratio);
  }

  /** The box of the node, or of what is around it. @param {Look} look @param {number} node */
  place({ tree }, node) {
    const boxes = new Map(this.laid.flatMap((box) => [[box.node, box], [box.from, box]]));
    while (!boxes.has(node) && node !== 0) node = tree.parent[node];
    return boxes.get(node) ?? null;
  }

  /** @param {Look} look @param {number} x @param {number} y */
  at(look, x, y) {
    const found = this.laid.findLast((box) =>
      x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height);
    return found ? found.node : -1;
  }
}
