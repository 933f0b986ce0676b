// SPDX-License-Identifier: MIT
// A flame graph in a browser: fits the window, zooms into the box that is clicked, marks what
// is searched for. Without a script the picture is the same at 1200 pixels.

const picture = document.documentElement;
const MARGIN = 10;
const PADDING = 6;
const out = /** @type {HTMLButtonElement} */ (document.getElementById("out"));
const search = /** @type {HTMLInputElement} */ (document.getElementById("search"));
const matches = /** @type {HTMLOutputElement} */ (document.getElementById("matches"));

/** Positions are percents of the tree's width; top is in pixels.
 * @typedef {{ box: Element, label: Element, name: string,
 *   left: number, width: number, top: number }} Item */

/** @param {Element} box @returns {Item} */
function itemOf(box) {
  const number = (/** @type {string} */ name) => parseFloat(box.getAttribute(name) ?? "0");
  return {
    box,
    label: /** @type {Element} */ (box.querySelector("text")),
    name: (box.querySelector("title")?.textContent ?? "").split("\n")[0],
    left: number("x"),
    width: number("width"),
    top: number("y"),
  };
}

const trees = [...document.querySelectorAll(".tree")].map((tree) => ({
  tree,
  boxes: [...tree.querySelectorAll(".box")].map(itemOf),
}));

function letterWidth() {
  const sample = document.createElementNS("http://www.w3.org/2000/svg", "text");
  sample.textContent = "m".repeat(40);
  const box = document.querySelector(".box");
  if (!box) return 7;
  box.append(sample);
  const width = sample.getComputedTextLength() / 40;
  sample.remove();
  return width || 7;
}
const letter = letterWidth();

/** @param {Element} label @param {string} name @param {number} width */
function fit(label, name, width) {
  const room = Math.floor((width - PADDING) / letter);
  const letters = [...name];
  if (room < 3) label.textContent = "";
  else if (letters.length <= room) label.textContent = name;
  else label.textContent = letters.slice(0, room - 1).join("") + "…";
}

/** @type {Item | null} */
let zoomed = null;

/** Where a box goes when `focus` takes the whole width: left, width, or null for nowhere.
 * @param {Item} item @param {Item | null} focus */
function placed(item, focus) {
  if (!focus) return [item.left, item.width];
  const slack = 0.001;
  const covers =
    item.left <= focus.left + slack &&
    item.left + item.width >= focus.left + focus.width - slack;
  if (item.top < focus.top) return covers ? [0, 100] : null;
  const inside =
    item.left >= focus.left - slack &&
    item.left + item.width <= focus.left + focus.width + slack;
  if (!inside) return null;
  const scale = 100 / focus.width;
  return [(item.left - focus.left) * scale, item.width * scale];
}

function draw() {
  const room = picture.clientWidth - 2 * MARGIN;
  for (const { tree, boxes } of trees) {
    tree.setAttribute("width", String(Math.max(room, 1)));
    const focus = zoomed && boxes.includes(zoomed) ? zoomed : null;
    for (const item of boxes) {
      const place = placed(item, focus);
      item.box.classList.toggle("aside", !place);
      item.box.classList.toggle("above", focus !== null && item.top < focus.top);
      if (!place) continue;
      item.box.setAttribute("x", `${place[0]}%`);
      item.box.setAttribute("width", `${place[1]}%`);
      fit(item.label, item.name, (place[1] / 100) * room);
    }
  }
  out.hidden = !zoomed;
}

/** @param {Item | null} item */
function zoom(item) {
  zoomed = item && item.width < 100 ? item : null;
  draw();
}

/** @param {string} text @returns {(name: string) => boolean} */
function matcher(text) {
  if (!text) return () => false;
  try {
    const pattern = new RegExp(text, "i");
    return (name) => pattern.test(name);
  } catch {
    return (name) => name.toLowerCase().includes(text.toLowerCase());
  }
}

/** The share of the width under boxes that match, each stretch counted once.
 * @param {Item[]} boxes */
function covered(boxes) {
  let end = 0;
  let sum = 0;
  for (const { left, width } of boxes.sort((a, b) => a.left - b.left || b.width - a.width)) {
    const start = Math.max(left, end);
    sum += Math.max(0, left + width - start);
    end = Math.max(end, left + width);
  }
  return sum;
}

function mark() {
  const matchesText = matcher(search.value);
  let share = 0;
  let count = 0;
  for (const { boxes } of trees) {
    const hits = boxes.filter((item) => matchesText(item.name));
    const isHit = new Set(hits);
    for (const item of boxes) item.box.classList.toggle("hit", isHit.has(item));
    if (boxes === trees[0].boxes) share = covered(hits);
    count += hits.length;
  }
  matches.textContent = search.value ? `${count} found, ${share.toFixed(1)} %` : "";
}

for (const { boxes } of trees)
  for (const item of boxes) item.box.addEventListener("click", () => zoom(item));
out.addEventListener("click", () => zoom(null));
search.addEventListener("input", mark);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target !== search) zoom(null);
  if (event.key === "/" && event.target !== search) {
    event.preventDefault();
    search.focus();
  }
});
addEventListener("resize", draw);
picture.setAttribute("width", "100%");
draw();
