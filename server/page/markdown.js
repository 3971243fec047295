// Markdown as elements. marked finds the structure; every text becomes a text node, links keep three schemes, images and
// HTML are shown as text.

import library from "./lib/marked.js";
import { copyButton } from "./clipboard.js";
import { h, replace } from "./dom.js";
import { highlighted, unescaped } from "./highlight.js";
import { strings } from "./strings.js";

const longestBlock = 32_000; // characters; longer ones stay plain
const mostMarks = 600; // of emphasis and links in a block: their pairing takes time that grows with their square
const longestRebuilt = 50_000; // characters of a text that is parsed once more when it has ended
const plainPart = 4000; // characters of an element of plain text, so that text off screen is not laid out
const rowsAtOnce = 100;
const deepest = 12; // nested blocks

/// Shows what would reorder the text around it: the controls of Unicode's bidirectional algorithm (UAX 9, 2).
export function visible(text) {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (control) => `[U+${control.codePointAt(0).toString(16).toUpperCase()}]`);
}

// Tabs inside code, which marked would turn into spaces, wait as a character of private use.
const tab = "\ue009";
const withTabs = (text) => text.replaceAll(tab, "\t");
const fence = /^ {0,3}(`{3,}|~{3,})/;

/// The text as marked reads it: tabs in fenced code are kept, others become spaces.
function prepared(text) {
  if (!text.includes("\t")) return text;
  let open = null;
  return text.split("\n").map((line) => {
    const mark = line.match(fence)?.[1];
    const wasOpen = open;
    if (open === null && mark) open = mark;
    else if (open !== null && mark?.startsWith(open) && line.trim() === mark) open = null;
    return line.replaceAll("\t", wasOpen === null ? "    " : tab);
  }).join("\n");
}

/// Where in `text` its prepared form ends after `length` characters, at the end of a line.
function offsetIn(text, preparedText, length) {
  if (length >= preparedText.length) return text.length;
  let lines = preparedText.slice(0, length).split("\n").length - 1;
  let at = 0;
  for (; lines > 0; --lines) at = text.indexOf("\n", at) + 1;
  return at;
}

const textOf = (text) => visible(unescaped(text)); // marked escapes the texts of its inline tokens

function safeAddress(text) {
  try {
    const address = new URL(text);
    return ["http:", "https:", "mailto:"].includes(address.protocol) ? address.href : null;
  } catch {
    return null;
  }
}

function link(token, children) {
  const address = safeAddress(unescaped(token.href));
  if (address === null) return [children, ` (${visible(token.href)})`];
  return h("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow", title: address }, children);
}

// Mathematics stays as the model wrote it: its marks are not Markdown.
const math = /^(\$\$[^]+?\$\$|\\\([^]+?\\\)|\\\[[^]+?\\\]|\$(?! )[^$\n]+?(?<! )\$(?!\d))/;
library.use({ extensions: [{ name: "math", level: "inline", start: (text) => text.search(/\$|\\[([]/),
  tokenizer(text) {
    const [raw] = text.match(math) ?? [];
    return raw === undefined ? undefined : { type: "math", raw };
  } }] });

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
    case "math": return h("span", { class: "math" }, visible(token.raw));
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

function codeBlock(token, isFinal) {
  const language = (token.lang ?? "").match(/^[\w+#.-]*/)[0].toLowerCase();
  const text = withTabs(token.text);
  const code = visible(text);
  return h("figure", { class: "code" },
    h("figcaption", {}, h("span", {}, language || "text"), copyButton(() => text, { "aria-label": strings.copyCode })),
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

/// Where the text of a block that is not parsed ends: at the first empty line.
function endOfBlock(text) {
  const empty = text.indexOf("\n\n");
  return empty === -1 ? text.length : empty + 2;
}

/// Whether the block at the front of a text is too long, or has too many marks, to be parsed while it grows.
function isHeavy(text) {
  const block = text.slice(0, endOfBlock(text));
  if (block.length > longestBlock) return true;
  if (block.length < mostMarks || fence.test(block)) return false;
  const marks = block.replace(/^\s*[*+-] /gm, "").match(/[*_`[\]~!<]/g);
  return (marks?.length ?? 0) > mostMarks;
}

/// A text that grows. Each finished block is rendered once, the open one again with each piece. A block that is too long to
/// parse stays plain text. At its end the text is parsed once more, because links may have their addresses there.
export class GrowingText {
  constructor() {
    this.element = h("div", { class: "prose" });
    this.tail = h("div", { class: "tail" });
    this.element.append(this.tail);
    this.restart();
  }

  restart() {
    replace(this.element, this.tail);
    this.done = 0; // characters of finished blocks
    this.isPlain = false; // the open block is not parsed
    this.hasEnded = false;
  }

  /// Shows the text so far; `isFinal`: it is complete.
  show(text, isFinal) {
    if (this.hasEnded && text.length === this.shownLength) return;
    const mustRebuild = isFinal && this.done > 0 && text.length <= longestRebuilt;
    if (text.length < this.done || this.hasEnded || mustRebuild) this.restart();
    this.shownLength = text.length;
    this.hasEnded = isFinal;
    while (this.done < text.length && (this.isPlain || isHeavy(text.slice(this.done)))) {
      if (!this.showPlain(text.slice(this.done), isFinal)) return;
    }
    this.showParsed(text.slice(this.done), isFinal);
  }

  add(made) {
    if (made !== null) this.tail.before(...[made].flat(Infinity));
  }

  /// Shows blocks up to the next one that is not parsed; all but the last are finished.
  showParsed(rest, isFinal) {
    const source = prepared(rest);
    const tokens = library.lexer(source);
    let open = isFinal ? tokens.length : tokens.findLastIndex((token) => token.type !== "space");
    if (open < 0) open = 0;
    let at = 0;
    for (const token of tokens.slice(0, open)) {
      this.add(block(token, 0, true));
      at = source.indexOf(token.raw, at) + token.raw.length; // definitions of links have no token
    }
    this.done += offsetIn(rest, source, at);
    replace(this.tail, blocks(tokens.slice(open), 0, isFinal));
  }

  /// Shows the block at the front as plain text. Returns whether it has ended.
  showPlain(rest, isFinal) {
    const end = endOfBlock(rest);
    const hasEnded = end < rest.length || isFinal || rest.endsWith("\n\n");
    const whole = hasEnded ? end : Math.floor(rest.length / plainPart) * plainPart;
    if (whole > 0) this.add(plain(rest.slice(0, whole)));
    this.done += whole;
    this.isPlain = !hasEnded;
    replace(this.tail, !hasEnded && whole < rest.length && plain(rest.slice(whole)));
    return hasEnded;
  }
}
