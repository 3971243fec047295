// The devices of the server, their load now, and measurements of `etna bench`.

import { benchPanel } from "./bench.js";
import { lineChart, stackedBar } from "./chart.js";
import { h } from "./dom.js";
import { bytes, clock, count, rate } from "./format.js";
import { noRequests, phaseBar } from "./requests.js";
import { viewStrings } from "./strings.js";
import { block, keyedChildren, listText, setText, shortTime, stateView } from "./views.js";

const minute_s = 60;
const throughput_px = 152; // height

/// Returns the parts of a device's memory that are known.
function memoryParts(device) {
  const known = (value) => value !== null && value !== undefined;
  const otherOfEtna = known(device.etna_bytes)
    ? Math.max(0, device.etna_bytes - (device.weights_bytes ?? 0) - (device.cache_bytes ?? 0)) : null;
  return [
    { name: viewStrings.weights, value: device.weights_bytes, colour: 1 },
    { name: viewStrings.cache, value: device.cache_bytes, colour: 2 },
    { name: viewStrings.otherOfEtna, value: otherOfEtna, colour: 4 },
    { name: viewStrings.otherPrograms, value: device.other_bytes, colour: 3 },
    { name: viewStrings.free, value: device.free_bytes, colour: 0 }].filter((part) => known(part.value));
}

function deviceCard({ name }) {
  const verdict = h("span");
  const facts = h("bdi");
  const note = h("p", { class: "note" });
  const bar = stackedBar(viewStrings.memoryOf(name), bytes);
  return {
    element: block(name, [h("p", { class: "note" }, facts), note, bar.element], verdict),
    update(device) {
      setText(facts, listText([device.is_chosen === false && viewStrings.notUsed, device.is_cpu && viewStrings.isCpu, device.driver,
        device.total_bytes ? bytes(device.total_bytes) : viewStrings.memoryUnknown]));
      const check = device.self_check ?? "unknown";
      setText(verdict, viewStrings.selfCheck[check] ?? check);
      verdict.className = check === "passed" ? "note good" : check === "failed" ? "note bad" : "note";
      setText(note, device.note ?? "");
      bar.element.hidden = !device.total_bytes;
      if (device.total_bytes) bar.update(memoryParts(device), device.total_bytes);
    },
  };
}

/// A chart of tokens per second over the last minutes.
function throughputChart(title, colour) {
  const x = { label: viewStrings.minutesAgo, format: (value) => value === 0 ? viewStrings.now : viewStrings.minutes(value),
    ticks: [-15, -10, -5, 0], range: [-15, 0] };
  const chart = lineChart(title, { x, y: { format: rate, least: 10 } }, throughput_px);
  return {
    element: chart.element,
    /// `tokens`: of each step of `step_s` seconds, oldest first; the last step has lasted `last_step_s`.
    update(tokens, step_s, last_step_s) {
      const complete = tokens.slice(0, -1).map((number) => number / step_s);
      const [before = 0, last = 0] = tokens.slice(-2);
      const now = (before + last) / (step_s + last_step_s);
      const minutes = tokens.length * step_s / minute_s;
      const points = [...complete, now].map((value, index) => [(index + 1 - tokens.length) * step_s / minute_s, value]);
      chart.update([{ name: viewStrings.tokensPerSecond, colour, points }],
        viewStrings.throughputDescription(minutes, rate(Math.max(...complete, now)), rate(now)),
        viewStrings.speedNow(rate(now)));
    },
  };
}

function throughput() {
  const prompts = throughputChart(viewStrings.promptThroughput, 2);
  const generation = throughputChart(viewStrings.generationThroughput, 1);
  return {
    element: block(viewStrings.throughput, h("div", { class: "charts" }, prompts.element, generation.element)),
    update({ throughput: { prompt_tokens, generated_tokens, step_s, last_step_s } }) {
      prompts.update(prompt_tokens, step_s, last_step_s);
      generation.update(generated_tokens, step_s, last_step_s);
    },
  };
}

function clientRow() {
  const name = h("bdi");
  const [running, waiting] = [h("td", { class: "number" }), h("td", { class: "number" })];
  return {
    element: h("tr", {}, h("th", { scope: "row" }, name), running, waiting),
    update(client) {
      setText(name, client.client || viewStrings.anotherClient);
      setText(running, count(client.running));
      setText(waiting, count(client.waiting));
    },
  };
}

function clients() {
  const body = h("tbody");
  const fill = keyedChildren(body, (client) => client.key, clientRow);
  const heading = (text, isNumber) => h("th", { scope: "col", class: isNumber && "number" }, text);
  const table = h("table", { class: "plain" }, h("thead", {}, h("tr", {}, heading(viewStrings.client, false),
    heading(viewStrings.running, true), heading(viewStrings.waiting, true))), body);
  const none = h("p", { class: "note" }, viewStrings.nothingRuns);
  return {
    element: block(viewStrings.requestsNow, [table, none]),
    update(state) {
      const busy = state.clients.map((client, index) => ({ ...client, key: client.client || index }))
        .filter((client) => client.running + client.waiting > 0);
      table.hidden = busy.length === 0;
      none.hidden = busy.length > 0;
      fill(busy);
    },
  };
}

function lastRequest() {
  const facts = h("bdi");
  const note = h("p", { class: "note" }, facts);
  const bar = phaseBar();
  const none = noRequests();
  const link = h("a", { class: "note", href: "#/requests" }, viewStrings.allRequests);
  return {
    element: block(viewStrings.lastRequest, [note, bar.element, none], link),
    update({ requests: [latest] }) {
      none.hidden = latest !== undefined;
      note.hidden = bar.element.hidden = latest === undefined;
      if (latest === undefined) return;
      setText(facts, listText([clock(latest.time_ms), latest.model, latest.client, shortTime(latest.elapsed_ms)]));
      bar.update(latest);
    },
  };
}

/// The view Machine: { element, close() }.
export function machineView() {
  const devices = h("div", { class: "devices" });
  const fill = keyedChildren(devices, (device) => device.key, deviceCard);
  const parts = [throughput(), clients(), lastRequest()];
  const none = h("p", { class: "note" }, viewStrings.noDevice);
  return stateView("machine", [devices, none, parts.map((part) => part.element), benchPanel()], (state) => {
    none.hidden = state.devices.length > 0;
    fill(state.devices.map((device, index) => ({ ...device, key: `${index} ${device.name}` })));
    for (const part of parts) part.update(state);
  });
}
