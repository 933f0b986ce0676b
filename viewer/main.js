// SPDX-License-Identifier: MIT
// The page: one state (tab, view, form, zoomed node, function, search), kept in the address and
// shown by all parts.
import { Chart } from "./chart.js";
import { Palette } from "./colour.js";
import { Tree, decode, encode, findMatches, labelOf, matcher, nodeKey, nodeOf, wholeOf } from "./data.js";
import { duration, localTime, oneLine, plural, share, signed, withUnit } from "./format.js";
import { growth } from "./growth.js";
import { Icicle } from "./icicle.js";
import { LinesView } from "./lines.js";
import { Table, make } from "./table.js";
import { Tip } from "./tip.js";
import { Treemap } from "./treemap.js";

const STEPS_MOST = 200; // of a way, when all are asked for

/** @param {string} id */
function part(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** @type {import("./data.js").Recording} */
const recording = JSON.parse(part("data").textContent ?? "");
const viewSelect = /** @type {HTMLSelectElement} */ (part("view"));
const sinceSelect = /** @type {HTMLSelectElement} */ (part("since"));
const searchInput = /** @type {HTMLInputElement} */ (part("search"));
const canvas = /** @type {HTMLCanvasElement} */ (part("canvas"));
const palette = new Palette(recording);
const weightUnit = recording.metrics.find((m) => m.id === recording.weight)?.unit ?? "ns";
const whole = wholeOf(recording);
const tip = new Tip(part("tip"));
/** @type {import("./chart.js").Form[]} */
const forms = [new Icicle(), new Treemap()];
const state = { tab: "paths", view: 0, since: -1, form: forms[0], node: 0, func: 0, search: "" };
/** @type {Map<string, Tree>} by the view, and the one that it is compared with */
const trees = new Map();
let tree = treeOf(0, -1);
/** @type {Uint8Array | null} */
let matched = null;

const chart = new Chart(part("icicle"), canvas, part("depth"), palette, state.form, {
  pick: (node) => zoomTo(node, true),
  hover: (node, event) => {
    chart.mark(node);
    if (node >= 0) tip.show(tree, node, event);
    else tip.hide();
  },
});
const table = new Table(part("table"), palette, columns(), {
  pick: (node) => zoomTo(node, false),
  point: (node) => chart.mark(node),
  rows: (shown, all) => {
    part("rows").textContent = `${shown.toLocaleString("en")} of ${plural(all, "path")}`;
  },
});

const lines = !recording.lines ? null : new LinesView({ list: part("functions"),
  more: part("more-functions"), title: part("function-title"), source: part("source") },
recording, { pick: pickFunction });

/** @param {number} view @param {number} since a view that it is compared with; -1 for none */
function treeOf(view, since) {
  const key = `${view} ${since}`;
  let found = trees.get(key);
  if (!found) {
    const { views } = recording;
    const shown = since < 0 || since === view ? views[view] : growth(recording, views[view], views[since]);
    trees.set(key, (found = new Tree(recording, shown)));
  }
  return found;
}

/** The name, then the metrics that are columns; a share stands behind its time. */
function columns() {
  const [name, aboutName] = recording.name ?? ["Name", "region or function"];
  const found = [{ id: "name", label: name, about: `${name}: ${aboutName}`, unit: "" }];
  for (const metric of recording.metrics) {
    const { id, unit, column, about } = metric;
    const label = labelOf(metric);
    if (column) found.push({ id, label, about: `${label}: ${about}`, unit });
    if (id === recording.weight)
      found.push({ id: "share", label: "%", about: `Share of ${whole.name}`, unit: "" });
  }
  return found;
}

/** Different values, in order. @param {string[]} values */
function distinct(values) {
  return [...new Set(values.filter(Boolean))];
}

/** @param {string} label @param {string[]} values @param {string} [title] */
function addFact(label, values, title) {
  if (!values.length) return;
  const more = values.length > 2 ? ` +${values.length - 2}` : "";
  const value = make("dd", "", oneLine(values.slice(0, 2).join(", "), 80) + more);
  value.title = title ?? values.join("\n").slice(0, 2000);
  const group = make("div", "");
  group.append(make("dt", "", label), value);
  part("facts").append(group);
}

function showHeader() {
  const { processes } = recording;
  const [first] = processes;
  const programs = distinct(processes.map((p) => p.program));
  const title = oneLine(programs.slice(0, 3).join(", ") || "Recording", 120);
  part("program").textContent = title;
  document.title = `${title} – dwell`;
  const command = part("command");
  command.textContent = oneLine(first?.argv || " ", 1000).trim();
  command.title = oneLine(first?.argv ?? "", 2000);
  if (first) {
    const start = Math.min(...processes.map((p) => p.start_ms));
    const end = Math.max(...processes.map((p) => p.start_ms * 1e6 + p.duration_ns));
    const lasted = processes.length === 1 ? first.duration_ns : end - start * 1e6;
    addFact("Duration", [duration(lasted)]);
    addFact("Started", [localTime(start)], new Date(start).toISOString());
  }
  addFact("Processes", [processes.length === 1 ? `1 (pid ${first.pid})` : `${processes.length}`],
    processes.map((p) => `${p.pid} ${p.program}`).join("\n").slice(0, 2000));
  addFact("Threads", recording.threads ? [`${recording.threads}`] : []);
  addFact("Shares are of", whole.weight ? [`${withUnit(whole.weight, weightUnit)}: ${whole.name}`] : []);
  addFact("Samples", recording.sampling);
  addFact("Host", distinct(processes.map((p) => p.host)));
  addFact("Python", distinct(processes.map((p) => p.python)));
  addFact("dwell", distinct([...processes.map((p) => p.dwell), recording.dwell]));
}

function showWarnings() {
  const list = make("ul", "");
  for (const warning of recording.warnings)
    list.append(make("li", "", warning[0].toUpperCase() + warning.slice(1) + "."));
  part("warnings").replaceChildren(make("strong", "", "Not everything was kept"), list);
  part("warnings").hidden = recording.warnings.length === 0;
}

/** Snapshots, of which one can be compared with another. */
function fillSince() {
  const { views } = recording;
  part("since-field").hidden = views.length < 2 || views[0].kind !== "snapshot";
  const names = ["nothing: all that was alive", ...views.map((view) => oneLine(view.name, 120))];
  sinceSelect.append(...names.map((name, index) => {
    const option = make("option", "", name);
    option.setAttribute("value", String(index - 1));
    return option;
  }));
}

/** All, then each process, then each thread; or snapshots. */
function fillViews() {
  const titles = { all: "", process: "Processes", thread: "Threads", snapshot: "Snapshots" };
  /** @type {Map<string, HTMLElement>} */
  const groups = new Map();
  recording.views.forEach((view, index) => {
    const all = view.kind === "all";
    const merged = `All ${recording.threads ? "threads" : "processes"}, merged`;
    const option = make("option", "", all ? merged : oneLine(view.name, 120));
    option.setAttribute("value", String(index));
    if (!groups.has(view.kind)) {
      const group = all ? viewSelect : make("optgroup", "");
      if (!all) {
        group.setAttribute("label", titles[/** @type {keyof titles} */ (view.kind)] ?? view.kind);
        viewSelect.append(group);
      }
      groups.set(view.kind, group);
    }
    groups.get(view.kind)?.append(option);
  });
}

/** Words for views that hold nothing below their root, and for shares above 100 %. */
function explainView() {
  const empty = part("empty");
  const overlap = tree.span[0] > tree.whole * 1.005 && weightUnit === "ns" && tree.whole > 0;
  empty.hidden = tree.count > 1;
  empty.textContent = recording.views[state.view].kind === "thread"
    ? "Nothing was recorded in this thread."
    : "Nothing was recorded below the root. Mark what matters with dwell.region(\"name\") or "
      + "@dwell.func(), and run the program under dwell run.";
  part("overlap").hidden = !overlap && !tree.view.isGrowth;
  part("overlap").textContent = tree.view.isGrowth
    ? `${signed(tree.column(recording.weight)[0], weightUnit)} in all; shares are of what is more`
    : `Threads overlap: shares are of ${whole.name}’s `
      + `${duration(tree.whole)} and add up to more than 100%`;
}

/** @param {number} node */
function crumb(node) {
  const button = make("button", "crumb", oneLine(tree.label(node), 60));
  button.setAttribute("type", "button");
  if (node === state.node) button.setAttribute("aria-current", "true");
  button.addEventListener("click", () => zoomTo(node, true));
  return button;
}

/** In place of the steps that are left out; a click shows them. @param {number} count */
function cutCrumb(count) {
  const button = make("button", "crumb", `… ${plural(count, "more", "more")} …`);
  button.setAttribute("type", "button");
  button.addEventListener("click", () => showTrail(STEPS_MOST));
  return button;
}

/** The way from the root; a long one is cut in the middle. @param {number} [most] steps */
function showTrail(most = 8) {
  const path = tree.ancestry(state.node);
  const shown = path.length <= most ? path : [...path.slice(0, 2), -1, ...path.slice(3 - most)];
  const parts = shown.map((node) => node >= 0 ? crumb(node) : cutCrumb(path.length - most + 1));
  part("trail").replaceChildren(...parts.flatMap((element, index) =>
    index ? [make("span", "sep", "›"), element] : [element]));
  part("trail").lastElementChild?.append(make("span", "size",
    `${withUnit(tree.weight[state.node], weightUnit)} · ${share(tree.weight[state.node], tree.whole)}`));
  part("out").hidden = state.node === 0;
}

/** Null for nothing typed, or for what is not a pattern. */
function searchTest() {
  const output = part("matches");
  output.className = "matches";
  output.textContent = "";
  try {
    return matcher(state.search);
  } catch {
    output.textContent = "Not a valid pattern";
    output.classList.add("bad");
    return null;
  }
}

function showMatches() {
  const output = part("matches");
  const test = searchTest();
  matched = null;
  if (lines && state.tab === "lines") {
    const found = lines.filter(test);
    if (test) output.textContent = plural(found, "function");
    return;
  }
  if (test) {
    const found = findMatches(tree, test);
    matched = found.matched;
    output.textContent = found.count
      ? `${plural(found.count, "match", "matches")} · ${withUnit(found.weight, weightUnit)} · `
        + share(found.weight, tree.whole)
      : "No match";
  }
  chart.highlight(matched);
  table.highlight(matched);
}

/** @param {number} node @param {boolean} reveal whether the table is to follow */
function zoomTo(node, reveal) {
  tip.hide();
  chart.mark(-1);
  state.node = node;
  chart.zoom(node);
  table.zoomed = node;
  if (reveal) table.reveal(node);
  else table.draw();
  showTrail();
  saveState(true);
}

function showView() {
  tree = treeOf(state.view, state.since);
  viewSelect.value = String(state.view);
  sinceSelect.value = String(state.since);
  state.node = Math.min(state.node, tree.count - 1);
  chart.show(tree, state.node, state.form);
  table.show(tree);
  table.zoomed = state.node;
  if (state.node) table.reveal(state.node);
  explainView();
  showForm();
  showTrail();
  showMatches();
}

/** @param {import("./chart.js").Form} form */
function pickForm(form) {
  tip.hide();
  state.form = form;
  showForm();
  chart.show(tree, state.node, form);
  saveState(false);
}

function showForm() {
  for (const form of forms)
    part(`form-${form.id}`).setAttribute("aria-pressed", String(form === state.form));
  canvas.setAttribute("aria-label", `${part(`form-${state.form.id}`).textContent} of `
    + `${plural(tree.count, "path")}: ${state.form.about} is `
    + `${columns()[1].label.toLowerCase()}. The table holds the same data.`);
}

/** @param {number} index */
function pickFunction(index) {
  state.func = index;
  lines?.show(index);
  saveState(true);
}

/** A recording that holds nothing but lines has no tabs. */
function showTab() {
  const isLines = state.tab === "lines";
  part("paths").hidden = isLines;
  part("lines").hidden = !isLines;
  part("view-field").hidden = isLines || recording.views.length < 2;
  part("tabs").hidden = !lines || !hasPaths();
  for (const tab of ["paths", "lines"])
    part(`tab-${tab}`).setAttribute("aria-pressed", String(tab === state.tab));
  searchInput.placeholder = isLines ? "Search functions, or /regex/" : "Search names, or /regex/";
  if (isLines) {
    showMatches();
    lines?.show(state.func);
  } else {
    showView();
  }
}

/** @param {string} tab */
function pickTab(tab) {
  tip.hide();
  state.tab = tab;
  showTab();
  saveState(true);
}

function hasPaths() {
  return recording.views.some((view) => view.parent.length > 1);
}

/** Moves the table's cursor to the next match, around the end. */
function nextMatch() {
  if (!matched) return;
  for (let step = 1; step <= tree.count; step++) {
    const node = (table.cursor + step) % tree.count;
    if (!matched[node]) continue;
    table.reveal(node);
    chart.mark(node);
    return;
  }
}

/** @param {boolean} step whether the browser's Back is to come back here */
function saveState(step) {
  const words = [];
  if (state.tab === "lines" && hasPaths()) words.push("tab=lines");
  if (lines && state.func) words.push(`function=${encode(lines.key(state.func))}`);
  if (state.view) words.push(`view=${state.view}`);
  if (state.since >= 0) words.push(`since=${state.since}`);
  if (state.form !== forms[0]) words.push(`form=${state.form.id}`);
  if (state.node) words.push(`path=${nodeKey(tree, state.node)}`);
  if (state.search) words.push(`search=${encode(state.search)}`);
  const hash = `#${words.join("&")}`;
  if (hash === (location.hash || "#")) return;
  if (step) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
}

function loadState() {
  const words = new Map(location.hash.slice(1).split("&").map((word) => {
    const at = word.indexOf("=");
    return [word.slice(0, at), word.slice(at + 1)];
  }));
  const view = Number(words.get("view") ?? 0);
  const since = Number(words.get("since") ?? -1);
  state.view = recording.views[view] ? view : 0;
  state.since = recording.views[since]?.kind === "snapshot" ? since : -1;
  state.node = nodeOf(treeOf(state.view, state.since), words.get("path") ?? "");
  state.form = forms.find((form) => form.id === words.get("form")) ?? forms[0];
  state.search = decode(words.get("search") ?? "");
  searchInput.value = state.search;
  state.tab = lines && (words.get("tab") === "lines" || !hasPaths()) ? "lines" : "paths";
  state.func = lines?.indexOf(decode(words.get("function") ?? "")) ?? 0;
  showTab();
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  const typing = event.target === searchInput;
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    searchInput.focus();
    searchInput.select();
  } else if (event.key === "Enter" && typing) {
    if (state.tab === "paths") nextMatch();
    else if (lines?.shown.length) pickFunction(lines.shown[0]);
  } else if (event.key === "Escape" && typing && state.search) {
    event.preventDefault();
    searchInput.value = "";
    searchFor("");
  } else if (event.key === "Escape") {
    searchInput.blur();
    if (state.node && state.tab === "paths") zoomTo(0, true);
  }
}

/** @param {string} text */
function searchFor(text) {
  if (text === state.search) return;
  state.search = text;
  showMatches();
  saveState(false);
}

function listen() {
  viewSelect.addEventListener("change", () => {
    state.view = Number(viewSelect.value);
    state.node = 0;
    showView();
    saveState(true);
  });
  sinceSelect.addEventListener("change", () => {
    state.since = Number(sinceSelect.value);
    state.node = 0;
    showView();
    saveState(true);
  });
  for (const tab of ["paths", "lines"])
    part(`tab-${tab}`).addEventListener("click", () => pickTab(tab));
  for (const form of forms)
    part(`form-${form.id}`).addEventListener("click", () => pickForm(form));
  searchInput.addEventListener("input", () => searchFor(searchInput.value));
  part("out").addEventListener("click", () => zoomTo(0, true));
  part("expand").addEventListener("click", () => table.setAll(true));
  part("collapse").addEventListener("click", () => table.setAll(false));
  addEventListener("keydown", onKey);
  addEventListener("popstate", loadState);
  addEventListener("scroll", () => tip.hide(), { passive: true, capture: true });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    palette.refresh();
    chart.redraw();
    table.draw();
  });
}

showHeader();
showWarnings();
fillViews();
fillSince();
listen();
loadState();
