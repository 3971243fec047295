// One message of a conversation: a question, or an answer with its thought, calls and figures.

import { endThinking, onAnswer } from "./answers.js";
import { copyButton } from "./clipboard.js";
import { isRunning, version } from "./conversation.js";
import { closeButton, h, iconButton, onFrame, openDialog, replace } from "./dom.js";
import { bytes, count, duration, rate } from "./format.js";
import { GrowingText, plain } from "./markdown.js";
import { strings } from "./strings.js";

const longQuestion = 2000; // characters shown of a long question, until it is opened

function quiet(label, onclick, properties = {}) {
  return h("button", { type: "button", class: "quiet", onclick, ...properties }, label);
}

/// "2 of 3" with buttons for the version before and after, if a message has several.
function versions(conversation, node, onSwitch) {
  const { index, total } = version(conversation, node);
  if (total < 2) return null;
  return h("span", { class: "versions" },
    iconButton("previous", strings.previousBranch, () => onSwitch(node, -1), { class: "icon-button icon-previous", disabled: index === 0 }),
    h("span", { class: "note" }, strings.branch(index + 1, total)),
    iconButton("next", strings.nextBranch, () => onSwitch(node, 1), { class: "icon-button icon-next", disabled: index === total - 1 }));
}

function fileChips(files) {
  return (files ?? []).length > 0 && h("ul", { class: "files" }, files.map((file) =>
    h("li", {}, h("button", { type: "button", class: "link", dir: "auto", onclick: () => openDialog(file.name, plain(file.text)) }, file.name),
      h("span", { class: "note" }, bytes(file.text.length)))));
}

/// A question: {element}.
export function questionView({ conversation, node, onEdit, onSwitch }) {
  const body = h("div", { class: "question" });
  const foot = h("div", { class: "foot" });
  const element = h("article", { class: "message user", "aria-label": strings.you }, body, foot);

  function show() {
    const isLong = node.text.length > longQuestion;
    replace(body, fileChips(node.files), node.text && plain(isLong ? `${node.text.slice(0, longQuestion)}...` : node.text),
      isLong && quiet(strings.more(`${count(node.text.length)} characters`), () => replace(body, fileChips(node.files), plain(node.text))));
    replace(foot, versions(conversation, node, onSwitch), copyButton(() => node.text), quiet(strings.edit, edit));
  }

  function edit() {
    const field = h("textarea", { rows: 4, dir: "auto", "aria-label": strings.edit, value: node.text });
    const send = () => { if (field.value.trim() || node.files?.length) onEdit(node, field.value); };
    field.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { event.preventDefault(); show(); }
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); send(); }
    });
    replace(body, field);
    replace(foot, quiet(strings.cancel, show), quiet(strings.editSend, send));
    field.focus();
  }

  show();
  return { element, close() {} };
}

/// Results of tools: {element}.
export function resultView({ node }) {
  return { close() {}, element: h("article", { class: "message tool", "aria-label": strings.toolResult },
    node.results.map((result) => h("details", { class: "call" }, h("summary", {}, strings.toolResult), plain(result.output)))) };
}

function rows(pairs) {
  return h("dl", { class: "facts" }, pairs.filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function showDetails(node) {
  const { usage, timings } = node;
  const phase = (value) => value === undefined || value === null ? null : duration(value);
  const text = strings.details;
  openDialog(strings.answerDetails, [
    usage && node.cause && h("p", {}, node.cause === "edited" ? strings.causes.edited(node.turn) : strings.causes[node.cause]),
    rows([[strings.model, node.model],
      [text.promptTokens, usage && count(usage.input)], [text.cachedTokens, usage && count(usage.cached)],
      [text.outputTokens, usage && count(usage.output)], [text.reasoningTokens, usage?.reasoning ? count(usage.reasoning) : null],
      [text.load, phase(timings?.load_ms)], [text.queue, phase(timings?.queue_ms)], [text.prompt, phase(timings?.prompt_ms)],
      [text.generation, phase(timings?.generation_ms)],
      [text.total, node.ended_ms && duration(node.ended_ms - node.started_ms)], [text.response, node.response]])],
  [closeButton()]);
}

/// Milliseconds to the first token, and tokens per second after it: the server's, else as this page saw them.
function speedOf(node) {
  const { timings, usage } = node;
  if (timings) {
    const first = timings.load_ms + timings.queue_ms + timings.prompt_ms;
    return { first, perSecond: usage?.output > 1 && timings.generation_ms > 0 ? (usage.output - 1) * 1000 / timings.generation_ms : null };
  }
  const seconds = (node.ended_ms - node.first_ms) / 1000;
  return { first: node.first_ms ? node.first_ms - node.started_ms : null,
    perSecond: usage?.output > 1 && seconds > 0 ? (usage.output - 1) / seconds : null };
}

function figures(node) {
  const { first, perSecond } = speedOf(node);
  const parts = [first !== null && strings.firstToken(duration(first)), perSecond && strings.speed(rate(perSecond)),
    node.usage && strings.read(count(node.usage.input - node.usage.cached), count(node.usage.cached)),
    node.settings?.schema?.trim() && { completed: strings.schemaHeld, incomplete: strings.schemaCut }[node.status]].filter(Boolean);
  return parts.length > 0 && h("button", { type: "button", class: "link note figures", dir: "ltr", title: strings.answerDetails, onclick: () => showDetails(node) },
    parts.flatMap((part, index) => [index > 0 && " · ", h("span", {}, part)]));
}

function endingOf(node) {
  switch (node.status) {
  case "cancelled": return [strings.stopped];
  case "incomplete": return [strings.cutOff];
  case "failed": return [node.error ? strings.failed(node.error) : strings.notSent, true];
  case "interrupted": return [strings.interrupted, true];
  case "gone": return [strings.gone, true];
  default: return null;
  }
}

function argumentsOf(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/// An answer: {element, close()}. `isLast`: nothing follows it in the branch that is shown.
export function answerView({ conversation, node, isLast, onRegenerate, onContinue, onResults, onSwitch, onGrow, progressOf }) {
  const thought = new GrowingText();
  const summary = h("summary");
  const thinking = h("details", { class: "thought", hidden: true }, summary, thought.element);
  const text = new GrowingText();
  const calls = h("div", { class: "calls" });
  const status = h("p", { class: "note status", role: "status" });
  const foot = h("div", { class: "foot" });
  const element = h("article", { class: "message assistant", "aria-label": node.model || strings.model }, thinking, text.element, calls, status, foot);
  let shownCalls = "";

  function showThought(isOpen) {
    if (!node.reasoning) return;
    thinking.hidden = false;
    const isThinking = isRunning(node) && !node.text && !(node.calls?.length);
    replace(summary, isThinking ? strings.thinking : node.thought_ms !== undefined ? strings.thought(duration(node.thought_ms)) : strings.thoughtUntimed,
      isThinking && quiet(strings.endThinking, (event) => { event.preventDefault(); event.target.disabled = true; endThinking(node); }));
    thought.show(node.reasoning, !isOpen);
  }

  function showCalls() {
    const state = JSON.stringify([node.calls, isRunning(node), isLast()]);
    if (state === shownCalls) return;
    shownCalls = state;
    const fields = new Map();
    replace(calls, (node.calls ?? []).map((call) => {
      const field = h("textarea", { class: "code", rows: 2, "aria-label": `${strings.toolResult}: ${call.name}`, placeholder: strings.toolResultHint });
      fields.set(call.call_id, field);
      return h("div", { class: "call" }, h("p", { class: "note" }, strings.toolCall(call.name)),
        h("pre", { tabindex: 0, dir: "ltr" }, h("code", {}, argumentsOf(call.arguments))), isLast() && !isRunning(node) && field);
    }), node.calls?.length > 0 && isLast() && !isRunning(node) && quiet(strings.sendResult, () =>
      onResults(node, [...fields].map(([call_id, field]) => ({ call_id, output: field.value })))));
  }

  function showStatus() {
    if (isRunning(node)) {
      const isQuiet = !node.text && !node.reasoning && !(node.calls?.length);
      return replace(status, node.waits ? [strings.reconnecting, node.isCancelled && ` ${strings.stopping}`] : isQuiet ? progressOf(node) : "");
    }
    const [ending, isBad] = endingOf(node) ?? ["", false];
    status.classList.toggle("bad", isBad === true);
    replace(status, ending);
  }

  function showFoot() {
    if (isRunning(node)) return replace(foot);
    replace(foot, figures(node), h("span", { class: "actions" }, versions(conversation, node, onSwitch),
      node.text && copyButton(() => node.text), quiet(strings.regenerate, () => onRegenerate(node)),
      isLast() && node.text && (node.status === "incomplete" || node.status === "cancelled" || node.status === "interrupted" || node.status === "failed") &&
        quiet(strings.continueAnswer, () => onContinue(node))));
  }

  function show() {
    const isOpen = isRunning(node);
    element.classList.toggle("is-running", isOpen);
    element.setAttribute("aria-busy", String(isOpen));
    showThought(isOpen);
    text.show(node.text, !isOpen);
    showCalls();
    showStatus();
    showFoot();
    onGrow(node);
  }

  show();
  const stopListening = onAnswer(node.id, onFrame(show));
  return { element, close: stopListening, show };
}
