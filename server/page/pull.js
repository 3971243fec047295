// Downloads of models to the server. One runs at a time, and continues when another view is shown.

import { lines, Problem, refreshState } from "./api.js";
import { h } from "./dom.js";
import { bytes, duration } from "./format.js";
import { strings, viewStrings } from "./strings.js";
import { messageOf, setText } from "./views.js";

const rateWindow_ms = 5000;
const shortestRate_ms = 500;

const listeners = new Set();
let pull = null; // the running one, or the last

function change(values) {
  Object.assign(pull, values);
  for (const listener of [...listeners]) listener();
}

/// Records the bytes of a file that are complete, for the rate of the last seconds.
function addSample(completed) {
  const now = performance.now();
  const isOtherFile = completed < (pull.samples.at(-1)?.completed ?? 0);
  const recent = isOtherFile ? [] : pull.samples.filter((sample) => now - sample.at < rateWindow_ms);
  pull.samples = [...recent, { at: now, completed }];
}

/// Returns bytes per second, or null while it is unknown.
function rateOf({ samples }) {
  const [first, last] = [samples[0], samples.at(-1)];
  const isLong = samples.length > 1 && last.at - first.at >= shortestRate_ms;
  return isLong ? (last.completed - first.completed) / (last.at - first.at) * 1000 : null;
}

/// Takes a line of the answer. Source: Ollama, docs/api.md, "Pull a Model".
function take(line) {
  if (line.error) throw new Problem(200, line.error);
  if (line.total !== undefined) {
    addSample(line.completed ?? 0);
    return change({ status: line.status, total: line.total, completed: line.completed ?? 0 });
  }
  const isKeepAlive = line.status === "pulling manifest" && pull.total !== null;
  if (!isKeepAlive) change({ status: line.status });
}

async function start(name) {
  const control = new AbortController();
  pull = { name, control, isRunning: true, status: "pulling manifest", total: null, completed: 0, samples: [] };
  change({ message: "", isBad: false });
  try {
    const options = { method: "POST", body: { model: name, stream: true }, signal: control.signal };
    for await (const line of lines("api/pull", options)) take(line);
    if (pull.status !== "success") throw new Problem(0, viewStrings.pullCutOff(name));
    change({ isRunning: false, message: viewStrings.pulled(name) });
    await refreshState();
  } catch (problem) {
    const isCancelled = problem.name === "AbortError";
    change({ isRunning: false, isBad: !isCancelled, message: isCancelled ? viewStrings.pullCancelled(name) : messageOf(problem) });
  }
}

/// Returns the progress of the pull as text.
function progressText() {
  const { status, total, completed } = pull;
  if (total === null || !status.startsWith("pulling ")) return viewStrings.pullStatus[status] ?? status;
  const rate = rateOf(pull);
  const left = rate > 0 ? duration((total - completed) / rate * 1000) : null;
  return viewStrings.pullProgress(bytes(completed), bytes(total), rate === null ? null : bytes(rate), left);
}

/// The field for a model's name, and the progress of its download: { element, close() }.
export function pullForm() {
  const field = h("input", { name: "model", dir: "ltr", required: true, placeholder: viewStrings.pullHint,
    autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
  const button = h("button", { class: "primary" }, viewStrings.pull);
  const title = h("bdi", { class: "pull-name" });
  const bar = h("progress", { max: "1", "aria-label": viewStrings.pullBar });
  const text = h("bdi", { class: "note" });
  const cancel = h("button", { type: "button", class: "outlined", onclick: () => pull.control.abort() }, strings.cancel);
  const progress = h("div", { class: "pull-progress" }, title, bar, text, cancel);
  const message = h("p", { class: "note", role: "status" });

  function submit(event) {
    event.preventDefault();
    if (!pull?.isRunning && field.value.trim() !== "") start(field.value.trim());
  }

  function show() {
    const isRunning = pull !== null && pull.isRunning;
    setText(button, isRunning ? viewStrings.pulling : viewStrings.pull);
    button.setAttribute("aria-disabled", String(isRunning));
    if (!isRunning && progress.contains(document.activeElement)) field.focus();
    progress.hidden = !isRunning;
    setText(message, pull?.message ?? "");
    message.classList.toggle("bad", pull?.isBad ?? false);
    if (!isRunning) return;
    setText(title, pull.name);
    setText(text, progressText());
    bar.value = pull.total ? pull.completed / pull.total : 0;
  }

  const form = h("form", { class: "pull-form", onsubmit: submit }, h("label", {}, viewStrings.pullLabel, field), button);
  listeners.add(show);
  show();
  return { element: h("div", { class: "pull" }, form, progress, message), close() { listeners.delete(show); } };
}
