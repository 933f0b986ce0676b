// SPDX-License-Identifier: MIT
// The file gives the hue, the name a shade of it, the same in every view. Python is warm, native
// code is cool, what is not a function is green.

/** @param {string} text */
function hash(text) {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length && i < 200; i++)
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  value ^= value >>> 15;
  value = Math.imul(value, 0x2c1b3c6d);
  return (value ^ (value >>> 13)) >>> 0;
}

const HUES = [40, 66, 84, 52, 76, 34, 94, 59];

const NATIVE_HUES = [232, 250, 218, 268];
const MARK_HUE = 145;
const NATIVE = 6; // kinds of frames, as logs number them
const MARK = 7;

/** @param {string} name @param {string} file @param {number} kind @param {boolean} dark */
export function colourOf(name, file, kind, dark) {
  const shade = hash(name);
  const step = ((shade >>> 16) % 5) / 4;
  const hue = file ? HUES[hash(file) % HUES.length] + ((shade >>> 8) % 13) - 6 : HUES[shade % 8];
  if (kind === NATIVE || kind === MARK) {
    const cool = kind === MARK ? MARK_HUE : NATIVE_HUES[hash(file) % NATIVE_HUES.length];
    return `oklch(${((dark ? 0.42 : 0.8) + step * 0.08).toFixed(3)} 0.06 ${cool})`;
  }
  return dark // where yellow would turn to mud
    ? `oklch(${(0.42 + step * 0.1).toFixed(3)} 0.082 ${28 + (hue - 28) * 0.62})`
    : `oklch(${(0.8 + step * 0.08).toFixed(3)} 0.095 ${hue})`;
}

/** What the canvas needs of the style sheet, which alone knows the theme. */
export function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const get = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim();
  return {
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    paper: get("card"),
    ink: get("box-ink"),
    root: get("box-root"),
    rest: get("box-rest"),
    match: get("match"),
    matchInk: get("match-ink"),
    line: get("ink"),
    font: get("font"),
  };
}

/** @typedef {ReturnType<typeof readTheme>} Theme */

/** The colours of all frames of a recording, made when first asked for. */
export class Palette {
  /** @param {import("./data.js").Recording} recording */
  constructor(recording) {
    this.recording = recording;
    this.theme = readTheme();
    /** @type {string[]} */
    this.known = [];
  }

  refresh() {
    this.theme = readTheme();
    this.known = [];
  }

  /** @param {import("./data.js").Tree} tree @param {number} node */
  of(tree, node) {
    if (node === 0) return this.theme.root;
    const { strings, frames } = this.recording;
    const frame = tree.frame[node];
    return (this.known[frame] ??= colourOf(
      strings[frames.name[frame]], strings[frames.file[frame]], frames.kind[frame],
      this.theme.dark));
  }
}
