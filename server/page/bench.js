// The output of `etna bench --json`, drawn. The files stay in the browser.

import { lineChart, lines_max } from "./chart.js";
import { h, replace } from "./dom.js";
import { bytes, count, rate } from "./format.js";
import { viewStrings } from "./strings.js";
import { block, command, messageOf, numberTable, setText, shortTime } from "./views.js";

const fileBytes_max = 4_000_000;
const rows_max = 5000;
const chart_px = 200; // height

/// Returns a finite number, or null.
const number = (value) => typeof value === "number" && Number.isFinite(value) ? value : null;

/// Returns a median with its extremes, or null.
function spread(value) {
  const median = number(value?.median);
  return median === null ? null : { median, low: number(value.min) ?? median, high: number(value.max) ?? median };
}

function generationRow(row, report) {
  return { batch: number(row.batch), depth: number(row.depth), length: number(report.prompt_tokens),
    prompt: spread(row.prompt_tok_s), first: spread(row.first_token_ms), generation: spread(row.generation_tok_s),
    weights: number(row.weight_bytes_s), share: number(row.weights_of_copy_rate) };
}

function textRow(row, report) {
  return { batch: number(row.batch), depth: 0, length: number(report.text_tokens),
    texts: spread(row.texts_s), tokens: spread(row.tok_s), time: spread(row.batch_ms) };
}

function kernelRow(row) {
  return { name: String(row.name), time: spread(row.us), rate: number(row.bytes_s),
    share: number(row.bytes_of_copy_rate), operations: number(row.flop_s) };
}

/// What `etna bench` prints: `mark` is a member that only this kind has, `rows` holds its measurements.
const kinds = [
  { name: "kernels", mark: "kernels", rows: "kernels", read: kernelRow },
  { name: "texts", mark: "text_tokens", rows: "rows", read: textRow },
  { name: "generation", mark: "generated_tokens", rows: "rows", read: generationRow },
];

const isObject = (value) => value !== null && typeof value === "object";
const objectsOf = (value) => Array.isArray(value) ? value.filter(isObject) : [];

/// Reads a file's text: { kind, title, rows, gaps }. Throws Error with a message for the user.
function readReport(name, text) {
  let report = null;
  try {
    report = JSON.parse(text);
  } catch {
    throw new Error(viewStrings.benchNotJson(name));
  }
  const kind = isObject(report) ? kinds.find(({ mark, rows }) => mark in report && Array.isArray(report[rows])) : undefined;
  if (!kind || report[kind.rows].length > rows_max) throw new Error(viewStrings.benchNotOurs(name));
  const title = [report.model, report.device].filter((part) => typeof part === "string" && part !== "").join(" · ");
  const rows = objectsOf(report[kind.rows]).map((row) => kind.read(row, report))
    .filter((row) => row.batch !== null && row.depth !== null);
  return { kind: kind.name, title, rows, gaps: objectsOf(report.not_measured) };
}

const ascending = (values) => [...new Set(values)].sort((one, other) => one - other);

/// Returns at most as many values as a chart has lines: the first, the middle, the last.
const chosen = (values) =>
  values.length <= lines_max ? values : [values[0], values[Math.floor(values.length / 2)], values.at(-1)];

/// Draws the member `rate` of rows over the member `over`, with a line for each value of the member `by`. Returns null if
/// a line would be a point.
function chartOf(rows, { title, rate: member, over, by, lineName, unit, isLogarithmic }) {
  const shown = rows.filter((row) => row[member] !== null && row[over] !== null);
  const xs = ascending(shown.map((row) => row[over]));
  if (xs.length < 2) return null;
  const lines = ascending(shown.map((row) => row[by]));
  const series = chosen(lines).map((value) => ({ name: lineName(value), points: xs.flatMap((x) => {
    const row = shown.find((one) => one[by] === value && one[over] === x);
    return row ? [[x, row[member].median, row[member].low, row[member].high]] : [];
  }) }));
  const label = viewStrings.benchAxes[over];
  const x = { label, caption: label, format: count, ...isLogarithmic && { ticks: xs, scale: Math.log2 } };
  const chart = lineChart(title, { x, y: { format: rate }, hasPoints: true }, chart_px);
  const ends = series.map(({ name, points }) => viewStrings.lineDescription(name, rate(points[0][1]), rate(points.at(-1)[1])));
  chart.update(series, ends.join("; "), lines.length > lines_max ? viewStrings.someLines(lines_max, lines.length) : unit);
  return chart.element;
}

const tokensByBatch = { by: "batch", lineName: viewStrings.batchLine, unit: viewStrings.tokensPerSecond };
const byLength = { over: "batch", by: "length", lineName: viewStrings.lengthLine, isLogarithmic: true };

/// The charts of each kind of report; those without two points are left out.
const charts = {
  generation: [
    { title: viewStrings.generationOverDepth, rate: "generation", over: "depth", ...tokensByBatch },
    { title: viewStrings.generationOverBatch, rate: "generation", over: "batch", by: "depth", lineName: viewStrings.depthLine,
      unit: viewStrings.tokensPerSecond, isLogarithmic: true },
    { title: viewStrings.promptsOverDepth, rate: "prompt", over: "depth", ...tokensByBatch },
    { title: viewStrings.promptsOverLength, rate: "prompt", over: "length", ...tokensByBatch, isAtSmallestDepth: true },
  ],
  texts: [
    { title: viewStrings.textsOverBatch, rate: "texts", ...byLength, unit: viewStrings.textsPerSecond },
    { title: viewStrings.tokensOverBatch, rate: "tokens", ...byLength, unit: viewStrings.tokensPerSecond },
  ],
  kernels: [],
};

const optional = (value, format) => value === null ? "" : format(value);
const percent = (share) => optional(share, (value) => `${Math.round(value * 100)} %`);
const middle = (value, format) => optional(value, ({ median }) => format(median));
const perSecond = (value) => optional(value, (rate_bytes) => viewStrings.perSecond(bytes(rate_bytes)));

/// The columns of each kind's table: [heading, text of a row].
const columns = {
  generation: [
    [viewStrings.batch, (row) => count(row.batch)],
    [viewStrings.depth, (row) => count(row.depth)],
    [viewStrings.promptLength, (row) => optional(row.length, count)],
    [viewStrings.promptSpeed, (row) => middle(row.prompt, rate)],
    [viewStrings.firstToken, (row) => middle(row.first, shortTime)],
    [viewStrings.generationSpeed, (row) => middle(row.generation, rate)],
    [viewStrings.weightsRead, (row) => perSecond(row.weights)],
    [viewStrings.ofCopies, (row) => percent(row.share)]],
  texts: [
    [viewStrings.batch, (row) => count(row.batch)],
    [viewStrings.textLength, (row) => optional(row.length, count)],
    [viewStrings.textsPerSecond, (row) => middle(row.texts, rate)],
    [viewStrings.tokensPerSecond, (row) => middle(row.tokens, rate)],
    [viewStrings.batchTime, (row) => middle(row.time, shortTime)]],
  kernels: [
    [viewStrings.kernel, (row) => row.name],
    [viewStrings.microseconds, (row) => middle(row.time, rate)],
    [viewStrings.bytesPerSecond, (row) => perSecond(row.rate)],
    [viewStrings.ofCopies, (row) => percent(row.share)],
    [viewStrings.teraflops, (row) => optional(row.operations, (value) => rate(value / 1e12))]],
};

function chartsOf({ kind, rows }) {
  return charts[kind].map((chart) => {
    const smallest = Math.min(...rows.map((row) => row.depth));
    return chartOf(chart.isAtSmallestDepth ? rows.filter((row) => row.depth === smallest) : rows, chart);
  }).filter((element) => element !== null);
}

const gapText = ({ batch, depth = null, reason }) => viewStrings.notMeasured(batch, depth, reason);

/// Draws a report; `remove` is called by its button.
function reportBlock(report, remove) {
  const drawn = chartsOf(report);
  const table = numberTable(viewStrings.numbersOf(report.title));
  const byColumns = columns[report.kind];
  table.update(byColumns.map(([heading]) => heading), report.rows.map((row) => byColumns.map(([, text]) => text(row))));
  const hint = report.kind === "kernels" ? null
    : h("div", { class: "next-step" }, h("p", { class: "note" }, viewStrings.onePoint), command(viewStrings.benchCommand));
  return h("section", { class: "report", "aria-label": report.title },
    h("header", { class: "block-head" }, h("h3", {}, report.title),
      h("button", { type: "button", class: "quiet", onclick: remove }, viewStrings.removeReport)),
    drawn.length > 0 ? h("div", { class: "charts" }, drawn) : hint,
    report.gaps.map((gap) => h("p", { class: "note" }, gapText(gap))), table.element);
}

const rowKey = (row) => row.name ?? `${row.batch} ${row.depth} ${row.length}`;

/// Returns both reports of a model and device as one; the newer one's measurements replace the older one's.
function merged(older, newer) {
  const rows = new Map([...older.rows, ...newer.rows].map((row) => [rowKey(row), row]));
  return { ...newer, rows: [...rows.values()], gaps: [...older.gaps, ...newer.gaps] };
}

/// The part of the view Machine that draws files of `etna bench --json`.
export function benchPanel() {
  const reports = new Map();
  const drawn = h("div", { class: "reports" });
  const message = h("p", { class: "note bad", role: "status" });
  const picker = h("input", { type: "file", accept: "application/json,.json", multiple: true, hidden: true, onchange: () => {
    take([...picker.files]);
    picker.value = "";
  } });
  const button = h("button", { type: "button", class: "outlined", onclick: () => picker.click() }, viewStrings.chooseFile);
  const drop = h("div", { class: "drop" }, h("p", {}, viewStrings.dropHere), button, picker);
  const element = block(viewStrings.bench, [h("p", { class: "note" }, viewStrings.benchHint), command(viewStrings.benchCommand),
    drop, message, drawn]);

  const draw = () => replace(drawn, [...reports].map(([key, report]) => reportBlock(report, () => {
    reports.delete(key);
    draw();
    button.focus();
  })));

  async function readFile(file) {
    if (file.size > fileBytes_max) throw new Error(viewStrings.benchTooLarge(file.name, bytes(fileBytes_max)));
    const report = readReport(file.name, await file.text());
    const key = `${report.kind} ${report.title}`;
    reports.set(key, reports.has(key) ? merged(reports.get(key), report) : report);
  }

  async function take(files) {
    const problems = [];
    for (const file of files) await readFile(file).catch((problem) => problems.push(messageOf(problem)));
    setText(message, problems.join(" "));
    draw();
  }

  const over = (event) => { // otherwise the browser opens a dropped file instead of the page
    event.preventDefault();
    drop.classList.toggle("is-over", event.type === "dragover");
  };
  element.addEventListener("dragover", over);
  element.addEventListener("dragleave", over);
  element.addEventListener("drop", (event) => { over(event); take([...event.dataTransfer.files]); });
  return element;
}
