// Markdown as elements. marked finds the structure; every text becomes a text node, links keep three schemes, images and
// HTML are shown as text.

import library from "./lib/marked.js";
import { h, replace } from "./dom.js";
import { highlighted } from "./highlight.js";
import { strings } from "./strings.js";

const longestBlock = 32_000; // characters; longer ones stay plain
const plainPart = 4000; // characters of an element of plain text, so that what is off screen costs nothing
const rowsAtOnce = 100;
const deepest = 12; // nested blocks

/// Shows what would reorder the text around it: the controls of Unicode's bidirectional algorithm (UAX 9, 2).
export function visible(text) {
  return text.replace(/[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g, (control) => `[U+${control.codePointAt(0).toString(16).toUpperCase()}]`);
}

const textOf = (text) => visible(unescape(text));

/// marked escapes the texts of its inline tokens.
function unescape(text) {
  return text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => ({ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" })[name]);
}

function safeAddress(text) {
  try {
    const address = new URL(text);
    return ["http:", "https:", "mailto:"].includes(address.protocol) ? address.href : null;
  } catch {
    return null;
  }
}

function link(token, children) {
  const address = safeAddress(unescape(token.href));
  if (address === null) return [children, ` (${visible(token.href)})`];
  return h("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow", title: address }, children);
}

function inline(tokens = [], depth = 0) {
  if (depth > deepest) return tokens.map((token) => visible(token.raw));
  return tokens.map((token) => {
    const children = () => inline(token.tokens, depth + 1);
    switch (token.type) {
    case "strong": return h("strong", {}, children());
    case "em": return h("em", {}, children());
    case "del": return h("del", {}, children());
    case "codespan": return h("code", {}, textOf(token.text));
    case "br": return h("br");
    case "link": return link(token, children());
    case "image": return link(token, [visible(token.text || token.href)]);
    case "text": return token.tokens ? children() : textOf(token.text);
    case "escape": return textOf(token.text);
    default: return visible(token.raw);
    }
  });
}

/// Text without structure, of any length.
export function plain(text) {
  const parts = [];
  for (let at = 0; at < text.length; at += plainPart) parts.push(h("div", { class: "plain-part" }, visible(text.slice(at, at + plainPart))));
  return h("div", { class: parts.length > 1 ? "plain is-long" : "plain", dir: "auto" }, parts);
}

function copyButton(text) {
  const button = h("button", { type: "button", class: "quiet", "aria-label": strings.copyCode, onclick: async () => {
    await copy(text);
    button.textContent = strings.copied;
    setTimeout(() => { button.textContent = strings.copy; }, 1500);
  } }, strings.copy);
  return button;
}

/// Puts text on the clipboard, also where the page is not a secure context.
export async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = h("textarea", { class: "hidden-label" });
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

function codeBlock(token, isFinal) {
  const language = (token.lang ?? "").match(/^[\w+#.-]*/)[0].toLowerCase();
  const code = visible(token.text);
  return h("figure", { class: "code" },
    h("figcaption", {}, h("span", {}, language || "text"), copyButton(token.text)),
    h("pre", { dir: "ltr", tabindex: 0, role: "region", "aria-label": language || "text" }, h("code", {}, isFinal ? highlighted(code, language) : code)));
}

/// The cells of a table's head or row: [{tokens}], as marked 4 and later versions have them.
const cellsOf = (cells) => cells.map((cell) => inline(cell.tokens ?? [{ type: "text", text: String(cell), raw: String(cell) }]));

function table(token) {
  const body = h("tbody");
  const rows = token.rows ?? token.cells;
  const align = (index) => token.align[index] ? `is-${token.align[index]}` : null;
  const addRows = (from, to) => body.append(...rows.slice(from, to).map((row) =>
    h("tr", {}, cellsOf(row).map((cell, index) => h("td", { class: align(index), dir: "auto" }, cell)))));
  addRows(0, rowsAtOnce);
  const rest = rows.length > rowsAtOnce && h("button", { type: "button", class: "quiet", onclick: () => {
    const from = body.rows.length;
    addRows(from, from + 10 * rowsAtOnce);
    if (body.rows.length >= rows.length) rest.remove();
  } }, strings.more(rows.length));
  return h("div", { class: "table", tabindex: 0, role: "region", "aria-label": strings.table },
    h("table", {}, h("thead", {}, h("tr", {}, cellsOf(token.header).map((cell, index) => h("th", { scope: "col", class: align(index), dir: "auto" }, cell)))), body), rest);
}

function list(token, depth, isFinal) {
  const items = token.items.map((item) => h("li", { dir: "auto", class: item.task && "task" },
    item.task && h("input", { type: "checkbox", disabled: true, checked: item.checked, "aria-label": strings.done }),
    blocks(item.tokens, depth + 1, isFinal)));
  return h(token.ordered ? "ol" : "ul", { start: token.ordered && token.start !== 1 ? token.start : null }, items);
}

function block(token, depth, isFinal) {
  if (token.raw.length > longestBlock || depth > deepest) return plain(token.raw);
  switch (token.type) {
  case "space": return null;
  case "heading": return h(`h${Math.min(token.depth + 2, 6)}`, { dir: "auto" }, inline(token.tokens));
  case "paragraph": return h("p", { dir: "auto" }, inline(token.tokens));
  case "text": return token.tokens ? inline(token.tokens) : textOf(token.text);
  case "code": return codeBlock(token, isFinal);
  case "blockquote": return h("blockquote", {}, blocks(token.tokens, depth + 1, isFinal));
  case "list": return list(token, depth, isFinal);
  case "table": return table(token);
  case "hr": return h("hr");
  default: return h("p", { dir: "auto" }, visible(token.raw));
  }
}

const blocks = (tokens, depth, isFinal) => tokens.map((token) => block(token, depth, isFinal));

/// Where the text of a block that is too long to be parsed ends: at the first empty line after its limit.
function endOfLongBlock(text) {
  const empty = text.indexOf("\n\n");
  return empty === -1 ? text.length : empty + 2;
}

/// A text that grows. Its finished blocks are made once; the last one is made anew while it grows. A block of over 32,000
/// characters stays plain text.
export class GrowingText {
  constructor() {
    this.element = h("div", { class: "prose" });
    this.tail = h("div", { class: "tail" });
    this.element.append(this.tail);
    this.done = 0; // characters of finished blocks
    this.plainText = null; // the element of an open block that is too long
  }

  /// Shows the whole text so far; `isFinal`: it grows no more.
  show(text, isFinal) {
    if (text.length < this.done) this.restart();
    let rest = text.slice(this.done);
    while (rest.length > longestBlock && endOfLongBlock(rest) > longestBlock) rest = this.showLong(rest, isFinal);
    if (this.plainText !== null) {
      const end = endOfLongBlock(rest);
      if (end === rest.length && !isFinal) return this.appendPlain(rest);
    }
    const tokens = library.lexer(rest);
    let open = isFinal ? tokens.length : tokens.findLastIndex((token) => token.type !== "space");
    if (open < 0) open = 0;
    for (const token of tokens.slice(0, open)) {
      this.add(block(token, 0, true));
      this.done += token.raw.length;
    }
    replace(this.tail, blocks(tokens.slice(open), 0, isFinal));
  }

  restart() {
    replace(this.element, this.tail);
    this.done = 0;
    this.plainText = null;
  }

  add(made) {
    if (made !== null) this.tail.before(...[made].flat(Infinity));
  }

  /// Takes a block that is too long from the front of `rest`, and returns what follows it.
  showLong(rest, isFinal) {
    const end = endOfLongBlock(rest);
    const isOpen = end === rest.length && !isFinal;
    const part = isOpen ? rest.slice(0, Math.floor(rest.length / plainPart) * plainPart) : rest.slice(0, end);
    this.add(plain(part));
    this.done += part.length;
    this.plainText = isOpen ? true : null;
    return rest.slice(part.length);
  }

  /// The open end of a block that is too long, less than a part of it.
  appendPlain(rest) {
    replace(this.tail, plain(rest));
    if (rest.length < plainPart) return;
    const whole = rest.slice(0, Math.floor(rest.length / plainPart) * plainPart);
    this.add(plain(whole));
    this.done += whole.length;
    replace(this.tail, plain(rest.slice(whole.length)));
  }
}
