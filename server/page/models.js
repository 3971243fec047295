// The models of the server: their state and memory, and the actions on them.

import { refreshState, request, state } from "./api.js";
import { closeButton, h, openDialog } from "./dom.js";
import { bytes, count, parameters } from "./format.js";
import { pullForm } from "./pull.js";
import { strings, viewStrings } from "./strings.js";
import { command, keyedChildren, listText, messageOf, scrollText, setText, stateView } from "./views.js";

const unpinned = "5m"; // how long a model stays in memory after it is unpinned

/// Whether a model stays in memory without a limit of time.
const staysLoaded = (model) => model.state === "loaded" && (model.is_pinned || model.unloads_in_s === null);

function stateText(model) {
  if (model.state === "loading") return viewStrings.loading(model.load_progress);
  if (model.state !== "loaded") return viewStrings.modelStates[model.state] ?? model.state;
  return model.is_pinned ? viewStrings.loadedPinned : viewStrings.modelStates.loaded;
}

/// Returns the second line of the state: requests, or the time until it is unloaded.
function activityText(model) {
  if (model.state !== "loaded") return "";
  if (model.running + model.waiting > 0) return viewStrings.runningWaiting(model.running, model.waiting);
  if (model.is_pinned) return "";
  return model.unloads_in_s === null ? viewStrings.unloadsForOthers : viewStrings.unloadsIn(model.unloads_in_s);
}

function factsText(model) {
  return listText([model.architecture, parameters(model.parameters), model.format]);
}

const send = (path, body, method = "POST") => request(path, { method, body });

/// Changes how long a model stays in memory. Returns a message if that had no effect.
async function setPinned(name, isPinned) {
  await send("api/generate", { model: name, keep_alive: isPinned ? -1 : unpinned });
  await refreshState();
  const model = state()?.models.find((one) => one.name === name);
  if (!model || staysLoaded(model) === isPinned) return "";
  return model.is_pinned ? viewStrings.pinnedByOption : viewStrings.pinIgnored;
}

async function unload(name) {
  const reply = await send("models/unload", { model: name });
  return reply?.waits_for_requests ? viewStrings.unloadsLater : "";
}

const closeDialog = (event) => event.target.closest("dialog").close();

/// Asks whether to delete a model; returns a promise of the answer.
function confirmDelete(name) {
  return new Promise((resolve) => {
    let isConfirmed = false;
    const dialog = openDialog(viewStrings.deleteQuestion(name), h("p", { class: "note" }, viewStrings.deleteHint), [
      h("button", { type: "button", class: "outlined", autofocus: true, onclick: closeDialog }, strings.cancel),
      h("button", { type: "button", class: "primary", onclick: (event) => {
        isConfirmed = true;
        closeDialog(event);
      } }, strings.remove)]);
    dialog.addEventListener("close", () => resolve(isConfirmed));
  });
}

/// Opens a dialog with the metadata of a model. Source of the members: Ollama, docs/api.md, "Show Model Information".
async function showModel(name) {
  const shown = await send("api/show", { model: name });
  const model = state()?.models.find((one) => one.name === name);
  const facts = [
    [viewStrings.architecture, shown.details?.family],
    [viewStrings.parameters, shown.details?.parameter_size],
    [viewStrings.format, shown.details?.quantization_level],
    [viewStrings.context, model?.context_tokens ? viewStrings.tokens(count(model.context_tokens)) : ""],
    [viewStrings.abilities, (shown.capabilities ?? []).join(", ")],
    [viewStrings.licence, shown.license]];
  const texts = [
    [viewStrings.samplingParameters, shown.parameters?.replace(/ {2,}/g, "  ")],
    [viewStrings.systemPrompt, shown.system],
    [viewStrings.template, shown.template]];
  const isGiven = ([, value]) => value;
  openDialog(name, h("div", { class: "show-model" },
    h("dl", { class: "facts" }, facts.filter(isGiven).map(([label, value]) => [h("dt", {}, label), h("dd", {}, value)])),
    texts.filter(isGiven).map(([label, text]) => [h("h3", {}, label), scrollText(label, text)])),
  [closeButton()]);
}

const hiddenName = (name) => h("span", { class: "hidden-label" }, ` ${name}`);

/// A button that runs one request at a time; its label says so while it runs. `report(message, isBad)` receives the result.
/// The button is never `disabled`, because it would lose the focus.
function actionButton(name, report) {
  const text = h("span");
  const element = h("button", { type: "button", class: "quiet", onclick: () => click() }, text, hiddenName(name));
  let action = null;
  let isBusy = false;

  function show() {
    const isWaiting = isBusy || action.isWaiting === true;
    if (!isBusy) setText(text, isWaiting ? action.busyLabel : action.label);
    element.setAttribute("aria-disabled", String(isWaiting));
    element.classList.toggle("is-absent", !isBusy && action.isAbsent === true);
  }

  async function click() {
    if (isBusy || action.isWaiting) return;
    isBusy = true;
    setText(text, action.busyLabel);
    show();
    try {
      const message = await action.run();
      await refreshState();
      report(message ?? "", false);
    } catch (problem) {
      report(messageOf(problem), true);
    }
    isBusy = false;
    show();
  }

  return { element, set(next) { action = next; show(); } };
}

function loadAction(model) {
  if (model.state === "loaded")
    return { label: viewStrings.unload, busyLabel: viewStrings.unloading, run: () => unload(model.name) };
  return { label: viewStrings.load, busyLabel: viewStrings.loadingNow, isWaiting: model.state === "loading",
    isAbsent: model.state === "broken", run: async () => { await send("models/load", { model: model.name }); } };
}

function pinAction(model) {
  const isPinned = staysLoaded(model);
  return { label: isPinned ? strings.unpin : strings.pin,
    busyLabel: isPinned ? viewStrings.unpinning : viewStrings.pinning,
    isAbsent: model.state === "broken" || model.state === "loading", run: () => setPinned(model.name, !isPinned) };
}

function deleteAction(model) {
  const isAbsent = state()?.can_pull === false;
  return { label: strings.remove, busyLabel: viewStrings.deleting, isAbsent, run: async () => {
    if (await confirmDelete(model.name)) await send("api/delete", { model: model.name }, "DELETE");
  } };
}

/// The links and buttons of a model: { elements, update(model) }.
function modelActions(name, report) {
  const chat = h("a", { class: "button-link", href: `#/new?model=${encodeURIComponent(name)}` }, viewStrings.chat, hiddenName(name));
  const [load, pin, show, remove] = [0, 1, 2, 3].map(() => actionButton(name, report));
  show.set({ label: viewStrings.show, busyLabel: viewStrings.showing, run: () => showModel(name) });
  return {
    elements: [load.element, pin.element, chat, show.element, remove.element],
    update(model) {
      chat.classList.toggle("is-absent", model.can_chat === false || model.state === "broken");
      load.set(loadAction(model));
      pin.set(pinAction(model));
      remove.set(deleteAction(model));
    },
  };
}

/// The memory that a model takes, or would take, of its device: { element, update(model) }.
function memoryCell() {
  const text = h("bdi");
  const fill = h("span");
  const bar = h("span", { class: "share-bar", role: "img" }, fill);
  return {
    element: h("td", { role: "cell", class: "number", data: { label: viewStrings.memory } }, text, bar),
    update(model) {
      const isLoaded = model.memory_bytes !== null;
      const taken = isLoaded ? model.memory_bytes : model.planned_bytes;
      const devices = state().devices;
      const total = (devices.find((one) => one.name === model.device) ?? devices[0])?.total_bytes ?? null;
      bar.hidden = taken === null || !total;
      setText(text, taken === null ? "" : isLoaded ? bytes(taken) : viewStrings.planned(bytes(taken)));
      if (bar.hidden) return;
      const share = Math.min(1, taken / total);
      bar.setAttribute("aria-label", viewStrings.memoryShare(Math.round(share * 100)));
      bar.classList.toggle("is-planned", !isLoaded);
      fill.style.inlineSize = `${Math.max(share * 100, 2)}%`;
    },
  };
}

/// The state of a model, with its progress while it is loaded: { element, update(model) }.
function stateCell() {
  const text = h("bdi");
  const progress = h("progress", { max: "1", "aria-label": viewStrings.loadingNow });
  const activity = h("p", { class: "note" });
  return {
    element: h("td", { role: "cell", data: { label: viewStrings.state } }, text, progress, activity),
    update(model) {
      setText(text, stateText(model));
      text.className = `state is-${model.state}`;
      progress.hidden = model.state !== "loading" || model.load_progress === null;
      if (!progress.hidden) progress.value = model.load_progress;
      setText(activity, activityText(model));
    },
  };
}

/// The names of a model and the facts of its file: { element, update(model) }.
function nameCell(name) {
  const aliases = h("p", { class: "note" });
  const facts = h("bdi");
  return {
    element: h("th", { role: "rowheader", scope: "row" }, h("bdi", { class: "model-name", title: name }, name), aliases,
      h("p", { class: "note" }, facts)),
    update(model) {
      setText(aliases, model.aliases.length > 0 ? viewStrings.alias(model.aliases.join(", ")) : "");
      setText(facts, factsText(model));
    },
  };
}

function numberCell(label, textOf) {
  const text = h("bdi");
  return {
    element: h("td", { role: "cell", class: "number", data: { label } }, text),
    update(model) { setText(text, textOf(model)); },
  };
}

/// A row for the result of the last action, else for the reason why a model is broken: { element, report(text, isBad),
/// update(model) }.
function messageRow() {
  const message = h("p", { class: "note", role: "status" });
  const element = h("tr", { role: "row", class: "row-message", hidden: true }, h("td", { role: "cell", colspan: "6" }, message));
  let reported = { text: "", isBad: false };
  let problem = "";
  const show = () => {
    setText(message, reported.text || problem);
    message.classList.toggle("bad", reported.text === "" || reported.isBad);
    element.hidden = message.textContent === "";
  };
  return {
    element,
    report(text, isBad) {
      reported = { text, isBad };
      show();
    },
    update(model) {
      problem = model.state === "broken" ? model.problem ?? "" : "";
      show();
    },
  };
}

function modelRow({ name }) {
  const message = messageRow();
  const actions = modelActions(name, message.report);
  const cells = [nameCell(name), stateCell(), numberCell(viewStrings.size, (model) => bytes(model.file_bytes)),
    numberCell(viewStrings.context, (model) => model.context_tokens ? count(model.context_tokens) : ""), memoryCell()];
  return {
    element: h("tbody", { role: "rowgroup" }, h("tr", { role: "row" }, cells.map((cell) => cell.element),
      h("td", { role: "cell" }, h("div", { class: "actions" }, actions.elements))), message.element),
    update(model) {
      for (const part of [...cells, actions, message]) part.update(model);
    },
  };
}

function modelTable() {
  const heading = (text, isNumber) => h("th", { role: "columnheader", scope: "col", class: isNumber && "number" }, text);
  const headings = [heading(viewStrings.model, false), heading(viewStrings.state, false), heading(viewStrings.size, true),
    heading(viewStrings.context, true), heading(viewStrings.memory, true), heading(viewStrings.actions, false)];
  return h("table", { class: "cards", role: "table", "aria-label": strings.models },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, headings)));
}

/// The view Models: { element, close() }.
export function modelsView() {
  const pull = pullForm();
  const table = modelTable();
  const fill = keyedChildren(table, (model) => model.name, modelRow);
  const none = h("div", { class: "next-step" }, h("h2", {}, strings.noModel), h("p", { class: "note" }, viewStrings.noModelHint),
    command(strings.noModelCommand));
  const elsewhere = h("p", { class: "note" }, viewStrings.pullElsewhere);
  const view = stateView("models", [pull.element, elsewhere, table, none], ({ models, can_pull }) => {
    pull.element.hidden = !can_pull;
    elsewhere.hidden = can_pull;
    table.hidden = models.length === 0;
    none.hidden = models.length > 0;
    fill(models);
  });
  return { element: view.element, close() { view.close(); pull.close(); } };
}
