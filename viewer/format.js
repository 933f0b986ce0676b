// SPDX-License-Identifier: MIT
// Numbers and names as people read them.

const TIMES = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]];
const SIZES = [["B", 1], ["KiB", 2 ** 10], ["MiB", 2 ** 20], ["GiB", 2 ** 30], ["TiB", 2 ** 40]];
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** Four significant digits in the largest unit that leaves something before the point.
 * @param {number} value @param {(string|number)[][]} units */
function scaled(value, units) {
  let at = 0;
  while (at + 1 < units.length && value >= Number(units[at + 1][1])) at++;
  const number = value / Number(units[at][1]);
  const whole = at === 0 || number >= 1000;
  return `${whole ? WHOLE.format(number) : number.toPrecision(4)} ${units[at][0]}`;
}

/** @param {number} ns */
export function duration(ns) {
  return scaled(ns, TIMES);
}

/** A value in its unit. @param {number} value @param {string} unit */
export function withUnit(value, unit) {
  if (unit === "ns") return duration(value);
  return unit === "bytes" ? scaled(value, SIZES) : WHOLE.format(value);
}

/** A value that is more, or less, than another. @param {number} value @param {string} unit */
export function signed(value, unit) {
  return (value < 0 ? "−" : "+") + withUnit(Math.abs(value), unit);
}

/** @param {number} part @param {number} whole */
export function share(part, whole) {
  if (!(whole > 0)) return "–";
  const percents = (part / whole) * 100;
  if (percents > 0 && percents < 0.05) return "<0.1%";
  return `${percents.toFixed(1)}%`;
}

/** @param {number} n @param {string} one @param {string} [many] */
export function plural(n, one, many = `${one}s`) {
  return `${WHOLE.format(n)} ${n === 1 ? one : many}`;
}

/** Control characters, and those that turn text around, become visible. @param {string} text */
function visible(text) {
  return text
    .replace(/[\u0000-\u0008\u000a-\u001f]/g, (c) =>
      String.fromCharCode(0x2400 + c.charCodeAt(0)))
    .replace(/[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
}

/** One visible line. @param {string} name @param {number} [most] characters */
export function oneLine(name, most = 600) {
  const cut = name.length > most ? `${name.slice(0, most)}…` : name;
  return cut === "" ? "(no name)" : visible(cut).replace(/\t/g, "\u2409");
}

/** A line of a source, with its tabs. @param {string} text */
export function codeLine(text) {
  return visible(text.length > 2000 ? `${text.slice(0, 2000)}…` : text);
}

/** Local time to the second. @param {number} ms since 1970 */
export function localTime(ms) {
  const time = new Date(ms - new Date(ms).getTimezoneOffset() * 60000);
  return time.toISOString().slice(0, 19).replace("T", " ");
}
