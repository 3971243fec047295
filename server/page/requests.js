// The last requests of the server: their tokens, times and errors, and the prompts if the server stores them.

import { request as send, state } from "./api.js";
import { stackedBar } from "./chart.js";
import { h, icon, replace } from "./dom.js";
import { clock, count, day, rate } from "./format.js";
import { strings, viewStrings } from "./strings.js";
import { command, keyedChildren, messageOf, scrollText, setText, shortTime, stateView } from "./views.js";

const columns = [viewStrings.time, viewStrings.status, viewStrings.model, viewStrings.client, viewStrings.readTokens,
  viewStrings.cachedTokens, viewStrings.generatedTokens, viewStrings.totalTime, viewStrings.tokensPerSecond];
const firstNumber = 4; // the columns from here on are numbers
const isCut = (column) => column === 2 || column === 3; // names may be long

const isError = (one) => one.outcome === "error";

/// Returns generated tokens per second, or null if nothing was generated.
function speedOf({ completion_tokens: tokens, decode_ms: time }) {
  return tokens > 0 && time > 0 ? tokens / time * 1000 : null;
}

const shown_ms = 0.05; // shorter phases are left out

/// Returns the phases of a request that took time, and the time that none of them explains.
function phasesOf(request) {
  const phases = [
    { name: viewStrings.queue, value: request.queue_ms, colour: 3 },
    { name: viewStrings.loadPhase, value: request.load_ms, colour: 4 },
    { name: viewStrings.promptPhase, value: request.prefill_ms, colour: 2 },
    { name: viewStrings.generationPhase, value: request.decode_ms, colour: 1 },
  ].map((phase) => ({ ...phase, value: phase.value > shown_ms ? phase.value : 0 }));
  const rest = (request.elapsed_ms ?? 0) - phases.reduce((sum, { value }) => sum + value, 0);
  return [...phases, { name: viewStrings.otherPhase, value: Math.max(0, rest), colour: 0 }];
}

/// The phases of a request as a bar: { element, update(request) }.
export function phaseBar() {
  const bar = stackedBar(viewStrings.phases, shortTime);
  return {
    element: bar.element,
    update(request) {
      const phases = phasesOf(request);
      bar.update(phases, Math.max(phases.reduce((sum, { value }) => sum + value, 0), Number.EPSILON));
    },
  };
}

function matches(one, query) {
  const texts = [one.id, one.method, one.path, one.status, one.outcome, one.model, one.client, one.error];
  return texts.join(" ").toLowerCase().includes(query);
}

const optional = (value, format) => value === null || value === undefined ? "" : format(value);

/// Returns the length of the text of the first `cached` tokens of a prompt, or 0 if that is unknown.
async function cachedLength({ model, prompt, prompt_tokens: total, cached_tokens: cached }) {
  const names = state()?.models.filter((one) => one.state === "loaded").flatMap((one) => [one.name, ...one.aliases]);
  if (!cached || !names?.includes(model)) return 0; // the tokenizer of another model would have to be loaded
  const { tokens } = await send("tokenize", { method: "POST",
    body: { model, content: prompt, add_special: false, parse_special: true, with_pieces: true } });
  const added = total - tokens.length; // a first token that has no text in the prompt
  if (added !== 0 && added !== 1) return 0;
  const encoder = new TextEncoder();
  const bytes = encoder.encode(prompt);
  const byteLength = (piece) => (typeof piece === "string" ? encoder.encode(piece) : piece).length;
  let end = tokens.slice(0, cached - added).reduce((sum, { piece }) => sum + byteLength(piece), 0);
  while ((bytes[end] & 0xc0) === 0x80) --end; // a token may end within a character
  return new TextDecoder().decode(bytes.subarray(0, end)).length;
}

/// Shows a prompt with its cached prefix marked.
async function drawPrompt(element, entry) {
  if (typeof entry.prompt !== "string") return setText(element, viewStrings.noPrompt);
  const end = await cachedLength(entry).catch(() => 0);
  const text = end > 0 ? [h("mark", {}, entry.prompt.slice(0, end)), entry.prompt.slice(end)] : entry.prompt;
  const [cached, total] = [entry.cached_tokens ?? 0, entry.prompt_tokens ?? 0].map(count);
  replace(element, h("h2", {}, viewStrings.prompt), h("p", {}, viewStrings.promptCached(cached, total, end > 0)),
    scrollText(viewStrings.promptOf(entry.id), text));
}

/// The rendered prompt, fetched when it is first shown: { element, show(isStored) }.
function promptPart(id) {
  const element = h("div", { class: "prompt" });
  let isFetched = false;
  return {
    element,
    async show(isStored) {
      if (!isStored) {
        isFetched = false;
        return setText(element, viewStrings.promptsNotStored);
      }
      if (isFetched) return;
      isFetched = true;
      try {
        await drawPrompt(element, await send(`page/requests/${encodeURIComponent(id)}`));
      } catch (problem) {
        setText(element, problem.status === 404 ? viewStrings.promptGone : messageOf(problem));
      }
    },
  };
}

/// The details of an open row: { element, update(request, inspects) }.
function detailsOf(one) {
  const facts = h("dl", { class: "facts" });
  const bar = phaseBar();
  const prompt = promptPart(one.id);
  const error = h("p", { class: "bad" });
  const rows = [[viewStrings.requestId, h("code", {}, one.id)], [viewStrings.path, h("code", {}, `${one.method} ${one.path}`)],
    [viewStrings.started, `${day(one.time_ms)}, ${clock(one.time_ms)}`]];
  replace(facts, rows.map(([label, value]) => [h("dt", {}, label), h("dd", {}, value)]));
  return {
    element: h("div", { class: "request-details" }, error, bar.element, facts, prompt.element),
    update(latest, inspects) {
      setText(error, latest.error ?? "");
      error.hidden = !latest.error;
      bar.update(latest);
      prompt.show(inspects);
    },
  };
}

function textsOf(one) {
  const status = one.outcome === "ok" ? String(one.status) : viewStrings.outcome(one.status, one.outcome);
  return [clock(one.time_ms), status, one.model ?? "", one.client || viewStrings.anotherClient,
    optional(one.prompt_tokens, count), optional(one.cached_tokens, count), optional(one.completion_tokens, count),
    optional(one.elapsed_ms, shortTime), optional(speedOf(one), rate)];
}

let rowsMade = 0;

/// A request's row, and its details below: { element, update({ request, inspects, isShown }) }.
function requestRow() {
  const details = h("td", { role: "cell", colspan: String(columns.length) });
  const detailRow = h("tr", { role: "row", class: "row-details", hidden: true, id: `request-${++rowsMade}` }, details);
  const texts = columns.map((_, index) => h("bdi", { class: isCut(index) && "cut" }));
  const button = h("button", { type: "button", class: "quiet open-row", "aria-expanded": "false", "aria-controls": detailRow.id,
    onclick: () => toggle() }, icon("next"), texts[0]);
  const cells = columns.map((label, index) => index === 0 ? h("th", { role: "rowheader", scope: "row" }, button)
    : h("td", { role: "cell", class: index >= firstNumber && "number", data: { label } }, texts[index]));
  const [, status, model] = cells;
  const errorText = h("bdi", { class: "note bad cut" });
  model.append(errorText);
  const element = h("tbody", { role: "rowgroup" }, h("tr", { role: "row" }, cells), detailRow);
  let latest = null;
  let shown = null;

  function showDetails() {
    if (detailRow.hidden) return;
    if (shown === null) {
      shown = detailsOf(latest.request);
      details.append(shown.element);
    }
    shown.update(latest.request, latest.inspects);
  }

  function toggle() {
    detailRow.hidden = !detailRow.hidden;
    button.setAttribute("aria-expanded", String(!detailRow.hidden));
    showDetails();
  }

  return {
    element,
    update(next) {
      latest = next;
      element.hidden = !next.isShown;
      textsOf(next.request).forEach((text, index) => setText(texts[index], text));
      setText(errorText, next.request.error ?? "");
      for (const cut of [texts[2], texts[3], errorText]) cut.title = cut.textContent;
      errorText.hidden = !next.request.error;
      status.classList.toggle("bad", isError(next.request));
      showDetails();
    },
  };
}

/// Says how to make a first request.
export function noRequests() {
  return h("div", { class: "next-step" }, h("p", { class: "note" }, viewStrings.noRequests),
    command(viewStrings.askCommand(location.origin)));
}

function requestTable() {
  const headings = columns.map((text, index) =>
    h("th", { role: "columnheader", scope: "col", class: index >= firstNumber && "number" }, text));
  return h("table", { class: "cards", role: "table", "aria-label": strings.requests },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, headings)));
}

/// The view Requests: { element, close() }.
export function requestsView() {
  const filter = h("input", { type: "search", placeholder: viewStrings.filterHint, "aria-label": viewStrings.filter,
    oninput: () => update() });
  const onlyErrors = h("input", { type: "checkbox", onchange: () => update() });
  const number = h("p", { class: "note" });
  const table = requestTable();
  const fill = keyedChildren(table, (row) => row.key, requestRow);
  const tools = h("div", { class: "filter" }, filter, h("label", { class: "check" }, onlyErrors, viewStrings.onlyErrors), number);
  const none = noRequests();
  const noMatch = h("p", { class: "note" }, viewStrings.noMatch);
  let latest = null;

  function update() {
    if (latest === null) return;
    const query = filter.value.trim().toLowerCase();
    const rows = latest.requests.map((request) => ({ request, inspects: latest.inspects,
      key: `${request.time_ms}-${request.id}`, // a client may choose the same id again
      isShown: matches(request, query) && (!onlyErrors.checked || isError(request)) }));
    const shown = rows.filter((row) => row.isShown).length;
    setText(number, shown === rows.length ? viewStrings.requestCount(rows.length) : viewStrings.shownCount(shown, rows.length));
    tools.hidden = rows.length === 0;
    none.hidden = rows.length > 0;
    table.hidden = shown === 0;
    noMatch.hidden = shown > 0 || rows.length === 0;
    fill(rows);
  }

  return stateView("requests", [tools, none, noMatch, table], (value) => {
    latest = value;
    update();
  });
}
