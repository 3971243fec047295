// Parts that the views share: keyed rows, tables of numbers, commands to copy, messages.

import { onState, state, stateFailure } from "./api.js";
import { copyButton } from "./clipboard.js";
import { h } from "./dom.js";
import { duration, rate } from "./format.js";
import { viewStrings } from "./strings.js";

/// Sets a text only if it differs, so that a selection in it stays.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/// A duration as text: 3.2 ms, 0.21 s, 4.2 s.
export const shortTime = (ms) => ms < 100 ? `${rate(ms)} ms` : duration(ms);

/// Joins the texts that are not empty.
export const listText = (texts) => texts.filter((text) => text).join(" · ");

/// Returns the message of a failed request.
export const messageOf = (problem) => problem.message || viewStrings.noReply;

/// Returns update(items), which adds, removes and updates children of `parent`, one per item, after those that it has now.
/// `make(item)` returns { element, update(item) } for a new key. Elements of known keys stay in the document, so that they
/// keep focus and selection.
export function keyedChildren(parent, keyOf, make) {
  const rows = new Map();
  const fixed = parent.children.length;
  return (items) => {
    const keys = new Set(items.map(keyOf));
    const hadFocus = parent.contains(document.activeElement);
    for (const [key, row] of rows) {
      if (keys.has(key)) continue;
      row.element.remove();
      rows.delete(key);
    }
    let next = parent.children[fixed] ?? null;
    for (const item of items) {
      const row = rows.get(keyOf(item)) ?? make(item);
      rows.set(keyOf(item), row);
      row.update(item);
      if (row.element === next) next = next.nextElementSibling;
      else parent.insertBefore(row.element, next);
    }
    if (hadFocus && !parent.contains(document.activeElement)) parent.querySelector("button:not([hidden]), a:not([hidden])")?.focus();
  };
}

/// Fills a table's body with `rows`, lists of texts; the first cell of each row is its heading.
function fillBody(body, rows) {
  while (body.rows.length > rows.length) body.lastElementChild.remove();
  rows.forEach((texts, index) => {
    const row = body.rows[index] ?? body.appendChild(h("tr", {}, texts.map((_, column) =>
      h(column === 0 ? "th" : "td", { scope: column === 0 && "row", class: "number" }, h("bdi")))));
    texts.forEach((text, column) => setText(row.cells[column].firstChild, text));
  });
}

/// A table of numbers in a scrolling box.
export function numberTable(label) {
  const head = h("tr", {});
  const body = h("tbody");
  const table = h("table", { class: "numbers" }, h("caption", { class: "hidden-label" }, label),
    h("thead", {}, head), body);
  const element = h("div", { class: "scroll-box", tabindex: "0", role: "region", "aria-label": label }, table);
  return {
    element,
    /// `headings`: texts; `rows`: lists of as many texts.
    update(headings, rows) {
      while (head.cells.length > headings.length) head.lastElementChild.remove();
      headings.forEach((heading, column) => {
        setText(head.cells[column] ?? head.appendChild(h("th", { scope: "col", class: "number" })), heading);
      });
      fillBody(body, rows);
    },
  };
}

/// A table of numbers that is closed at first. It is filled only while it is open.
export function numberDetails(label) {
  const table = numberTable(viewStrings.numbersOf(label));
  let latest = () => [[], []];
  const fill = () => { if (element.open) table.update(...latest()); };
  const element = h("details", { class: "number-details", ontoggle: fill },
    h("summary", {}, viewStrings.numbers,
      h("span", { class: "hidden-label" }, ` ${label}`)), table.element);
  return {
    element,
    /// `content()` returns the headings and rows.
    update(content) {
      latest = content;
      fill();
    },
  };
}

/// A long text in a scrolling box.
export function scrollText(label, text) {
  return h("pre", { class: "scroll-box", tabindex: "0", role: "region", "aria-label": label }, text);
}

/// A command for a shell, with a button that copies it.
export const command = (text) => h("div", { class: "command" }, h("code", {}, text), copyButton(() => text));

/// A part of a view under a heading; `aside` is at the end of the heading's line.
export function block(title, content, aside = null) {
  return h("section", { class: "block", "aria-label": title },
    h("header", { class: "block-head" }, h("h2", {}, title), aside), content);
}

/// A view of the server's state. `render(state)` is called with each; until there is one, the view says why.
export function stateView(className, content, render) {
  const absence = h("p", { class: "note", role: "status" });
  const body = h("div", { class: className }, content);
  const show = () => {
    const latest = state();
    body.hidden = latest === null;
    absence.hidden = latest !== null;
    if (latest !== null) return render(latest);
    setText(absence, stateFailure() === null ? "" : messageOf(stateFailure()));
  };
  const close = onState(show);
  show();
  return { element: h("div", { class: "panel" }, absence, body), close };
}
