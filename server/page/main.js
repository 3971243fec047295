// Start: the frame, the views by address, the key, the keyboard, the service worker.
//
//   #/new, #/new?model=NAME     a new chat
//   #/chat/ID                   a conversation of this browser
//   #/response/ID               an answer that another device began
//   #/models, #/machine, #/requests

import { isKey, onKeyRefused, onState, pollState, refreshState, stateFailure } from "./api.js";
import { chatView } from "./chat.js";
import { closeButton, h, iconButton, openDialog, replace } from "./dom.js";
import { machineView } from "./machine.js";
import { modelsView } from "./models.js";
import { requestsView } from "./requests.js";
import { sidebar } from "./sidebar.js";
import * as store from "./store.js";
import { strings } from "./strings.js";

const views = { models: [strings.models, modelsView], machine: [strings.machine, machineView], requests: [strings.requests, requestsView] };
const idle_ms = 5000;
const watched_ms = 1000;

const main = h("main", { class: "view" });
const offline = h("div", { class: "offline", role: "status", hidden: true });
let shown = { close() {} };
let viewName = "chat";

const go = (hash) => { if (location.hash === hash) open(); else location.hash = hash; };
const side = sidebar({ go, current: () => shown.conversationId?.() ?? null, onChange: (id) => shown.onStored?.(id),
  onDrawer: (isOpen) => { main.inert = isOpen; } });
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
  if (viewName !== "chat") document.title = `${views[viewName][0]} · ${strings.title}`;
  if (viewName === "chat" && matchMedia("(hover: hover)").matches) shown.focus?.();
}

function askForKey(wasRefused) {
  return new Promise((resolve) => {
    const field = h("input", { type: "password", autocomplete: "off", required: true, "aria-label": strings.key,
      oninput: () => field.setCustomValidity(field.value === "" || isKey(field.value.trim()) ? "" : strings.keyInvalid) });
    let given = null;
    const dialog = openDialog(strings.keyTitle, h("form", { method: "dialog", onsubmit: () => { given = field.value.trim(); } },
      h("p", { class: wasRefused ? "note bad" : "note" }, wasRefused ? strings.keyRefused : strings.keyHint), field, h("div", { class: "actions" }, h("button", { class: "primary" }, strings.keyGo))));
    dialog.addEventListener("close", () => resolve(given));
    field.focus();
  });
}

let asked = null;
let isDeclined = false;
onKeyRefused((wasRefused) => { // several requests may be refused at once
  if (isDeclined) return Promise.resolve(null);
  asked ??= askForKey(wasRefused).then((given) => {
    isDeclined = given === null;
    return given;
  }).finally(() => { asked = null; });
  return asked;
});

function enterKey() {
  isDeclined = false;
  refreshState();
}

let isKeeping = true;

/// Shows the bar over a view, if the server, a key or the database is missing.
function showBar() {
  const failure = stateFailure();
  const [text, label, act] = failure?.status === 401 ? [strings.keyNeeded, strings.enterKey, enterKey]
    : failure?.status === 0 ? [strings.offline, strings.again, refreshState]
    : isKeeping ? [] : [strings.notKept];
  offline.hidden = text === undefined;
  if (offline.dataset.text === text) return;
  offline.dataset.text = text ?? "";
  replace(offline, text && h("span", {}, text), act && h("button", { type: "button", class: "quiet", onclick: act }, label));
}

function showShortcuts() {
  openDialog(strings.shortcuts, h("table", { class: "shortcuts" }, h("tbody", {}, strings.shortcutRows.map(([keys, effect]) =>
    h("tr", {}, h("td", {}, keys.split(" ").flatMap((key, index) => [index > 0 && " ", h("kbd", {}, key)])), h("td", {}, effect))))),
  [closeButton()]);
}

const isTyping = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && document.querySelector("dialog[open]") === null) {
    if (side.toggle(false)) return; // first: an open drawer is closed before an answer is stopped
    return isTyping(event.target) && !event.target.closest(".composer") ? event.target.blur() : shown.stop?.();
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

document.addEventListener("dragover", (event) => { if (event.dataTransfer?.types.includes("Files")) event.preventDefault(); });
document.addEventListener("drop", (event) => event.preventDefault()); // a file that misses its place does not replace the page
onState(showBar);
store.isAvailable().then((isKept) => { isKeeping = isKept; showBar(); });
window.addEventListener("hashchange", open);
replace(document.getElementById("app"), h("div", { class: "frame" }, side.element, main), side.shade);
open();
pollState(() => viewName === "chat" ? idle_ms : watched_ms);
registerWorker();
