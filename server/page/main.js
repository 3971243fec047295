// Start: the frame, the views by address, the key, the keyboard, the service worker.
//
//   #/new, #/new?model=NAME     a new chat
//   #/chat/ID                   a conversation of this browser
//   #/response/ID               an answer that another device began
//   #/models, #/machine, #/requests

import { onKeyRefused, onState, pollState, refreshState, stateFailure } from "./api.js";
import { chatView } from "./chat.js";
import { h, iconButton, openDialog, replace } from "./dom.js";
import { machineView } from "./machine.js";
import { modelsView } from "./models.js";
import { requestsView } from "./requests.js";
import { sidebar } from "./sidebar.js";
import { strings } from "./strings.js";

const views = { models: [strings.models, modelsView], machine: [strings.machine, machineView], requests: [strings.requests, requestsView] };
const idle_ms = 5000;
const watched_ms = 1000;

const main = h("main", { class: "view" });
const offline = h("div", { class: "offline", role: "status", hidden: true }, h("span", {}, strings.offline),
  h("button", { type: "button", class: "quiet", onclick: () => refreshState() }, strings.again));
let shown = { close() {} };
let viewName = "chat";

const go = (hash) => { if (location.hash === hash) open(); else location.hash = hash; };
const side = sidebar({ go, current: () => shown.conversationId?.() ?? null, onChange: (id) => shown.onStored?.(id) });
const menu = () => iconButton("menu", strings.menu, () => side.toggle(true), { class: "icon-button menu" });

function framed(title, view) {
  const { element, close } = view();
  return { element: [h("header", { class: "bar" }, menu(), h("h1", {}, title)), offline, h("div", { class: "page" }, element)], close };
}

/// Shows the view that the address names.
function open() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, id] = path.split("/").map(decodeURIComponent);
  shown.close();
  viewName = name in views ? name : "chat";
  shown = name in views ? framed(...views[name])
    : chatView({ id: name === "chat" ? id : null, response: name === "response" ? id : null,
      model: new URLSearchParams(query).get("model"), go, menu, offline, onChange: () => side.refresh() });
  replace(main, shown.element);
  side.setView(viewName);
  side.refresh();
  document.title = viewName === "chat" ? strings.title : `${views[viewName][0]} · ${strings.title}`;
  if (viewName === "chat" && matchMedia("(hover: hover)").matches) shown.focus?.();
}

function askForKey() {
  return new Promise((resolve) => {
    const field = h("input", { type: "password", autocomplete: "off", required: true, "aria-label": strings.key });
    let given = null;
    const dialog = openDialog(strings.keyTitle, h("form", { method: "dialog", onsubmit: () => { given = field.value; } },
      h("p", { class: "note" }, strings.keyHint), field, h("div", { class: "actions" }, h("button", { class: "primary" }, strings.keyGo))));
    dialog.addEventListener("close", () => resolve(given));
    field.focus();
  });
}

let asked = null;
onKeyRefused(() => { // several requests may be refused at once
  asked ??= askForKey().finally(() => { asked = null; });
  return asked;
});

function showShortcuts() {
  openDialog(strings.shortcuts, h("table", { class: "shortcuts" }, h("tbody", {}, strings.shortcutRows.map(([keys, effect]) =>
    h("tr", {}, h("td", {}, keys.split(" ").flatMap((key, index) => [index > 0 && " ", h("kbd", {}, key)])), h("td", {}, effect))))),
  [h("button", { type: "button", class: "primary", autofocus: true, onclick: (event) => event.target.closest("dialog").close() }, strings.close)]);
}

const isTyping = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && document.querySelector("dialog[open]") === null) {
    side.toggle(false);
    return shown.stop?.();
  }
  if (isTyping(event.target) || document.querySelector("dialog[open]") !== null) return;
  const actions = { "/": () => side.focusSearch(), "?": showShortcuts, n: () => go("#/new"), m: () => go("#/models"), i: () => shown.focus?.() };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
});

function registerWorker() {
  if (!navigator.serviceWorker) return;
  const policy = window.trustedTypes?.createPolicy("etna", { createScriptURL: (address) => {
    if (address !== "page/worker.js") throw new TypeError("not the service worker");
    return address;
  } });
  const address = policy ? policy.createScriptURL("page/worker.js") : "page/worker.js";
  navigator.serviceWorker.register(address, { scope: "./" }).then(() => navigator.serviceWorker.ready).then((registration) => {
    const loaded = performance.getEntriesByType("resource").map((entry) => entry.name);
    registration.active.postMessage(loaded.filter((address) => address.startsWith(location.origin)));
  }).catch(() => {}); // the page works without it
}

onState(() => { offline.hidden = stateFailure() === null || stateFailure().status !== 0; });
window.addEventListener("hashchange", open);
replace(document.getElementById("app"), h("div", { class: "frame" }, side.element, main), side.shade);
open();
pollState(() => viewName === "chat" ? idle_ms : watched_ms);
registerWorker();
