// Elements, made without markup: every text becomes a text node.

import { strings } from "./strings.js";

const svgNamespace = "http://www.w3.org/2000/svg";

function assign(element, properties) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "open") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child);
  }
  return element;
}

/// Makes an element: h("button", { class: "quiet", onclick: run }, "Run").
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  assign(element, properties);
  return append(element, children);
}

/// The same for SVG.
export function svg(name, properties = {}, ...children) {
  const element = document.createElementNS(svgNamespace, name);
  assign(element, properties);
  return append(element, children);
}

// Shapes on a grid of 16, drawn as lines.
const icons = {
  menu: "M2 4h12M2 8h12M2 12h12",
  close: "M4 4l8 8M12 4l-8 8",
  send: "M8 13V3M4 7l4-4 4 4",
  stop: "M4 4h8v8H4z",
  pin: "M6 2h4l-.5 5L12 9.5H4L6.500 7zM8 9.500V14",
  more: "M3 8h.01M8 8h.01M13 8h.01",
  attach: "M13 7.500 8.200 12.300a3 3 0 0 1-4.300-4.300L9 3a2 2 0 0 1 2.900 2.900L7 10.700a1 1 0 0 1-1.400-1.400L10 5",
  previous: "M10 3 5 8l5 5",
  next: "M6 3l5 5-5 5",
};

export function icon(name) {
  return svg("svg", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", class: "icon" },
    svg("path", { d: icons[name], fill: "none", stroke: "currentColor", "stroke-width": name === "more" ? 2.5 : 1.5,
      "stroke-linecap": "round", "stroke-linejoin": "round" }));
}

/// A button that shows an icon only; `label` is its name.
export function iconButton(name, label, onclick, properties = {}) {
  return h("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick, ...properties }, icon(name));
}

export function replace(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

/// Opens a modal dialog; it leaves the document when it is closed. Returns the element.
export function openDialog(title, content, actions = []) {
  const heading = h("h2", {}, title);
  heading.id = `dialog-${Math.random().toString(36).slice(2)}`;
  const dialog = h("dialog", { "aria-labelledby": heading.id, onclose: () => dialog.remove() },
    heading, content, actions.length > 0 && h("div", { class: "actions" }, actions));
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/// The button that closes its dialog, and has the focus when it opens.
export const closeButton = () => h("button", { type: "button", class: "primary", autofocus: true,
  onclick: (event) => event.target.closest("dialog").close() }, strings.close);

/// Opens a dialog with one sentence.
export const openNotice = (text) => openDialog(strings.title, h("p", {}, text), [closeButton()]);

/// Calls `work` in the next frame, once for many calls.
export function onFrame(work) {
  let isQueued = false;
  return () => {
    if (isQueued) return;
    isQueued = true;
    requestAnimationFrame(() => { isQueued = false; work(); });
  };
}

/// Calls `work` when no call came for `delay` ms.
export function debounce(work, delay) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...values), delay);
  };
}
