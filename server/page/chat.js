// The chat: a conversation's messages, and the composer below them.

import * as answers from "./answers.js";
import { onState, request, state } from "./api.js";
import { composer } from "./composer.js";
import * as conversations from "./conversation.js";
import { debounce, h, openNotice, replace } from "./dom.js";
import { answerView, questionView, resultView } from "./message.js";
import { openSettings } from "./settings.js";
import { openShare } from "./share.js";
import * as store from "./store.js";
import { strings } from "./strings.js";

const modelKey = "etna-model"; // of localStorage: the model that was chosen last
const nearEnd = 80; // pixels from the end at which the view follows an answer
const spokenMax = 1000; // characters of a finished answer for screen readers

const chatModels = () => (state()?.models ?? []).filter((model) => model.can_chat && model.state !== "broken");

function chosenModel() {
  try {
    return localStorage.getItem(modelKey);
  } catch {
    return null; // a browser that keeps nothing
  }
}

function chooseModel(name) {
  try {
    localStorage.setItem(modelKey, name);
  } catch {
    // the choice lives as long as the conversation
  }
}

function defaultModel() {
  const names = chatModels().map((model) => model.name);
  const chosen = chosenModel();
  const loaded = chatModels().find((model) => model.state === "loaded");
  return names.includes(chosen) ? chosen : loaded?.name ?? names[0] ?? "";
}

/// `id`: of a conversation of this browser; `response`: of an answer that another device began; neither: a new chat.
export function chatView({ id, response, model, go, menu, offline, onChange }) {
  let conversation = conversations.create(model ? { model } : {});
  let isStored = false;
  const shown = new Map(); // node id -> view
  const title = h("h1", { dir: "auto" });
  const models = h("select", { "aria-label": strings.model, onchange: () => {
    chooseModel(models.value);
    changeSettings({ ...conversation.settings, model: models.value });
  } });
  const list = h("div", { class: "messages" });
  const empty = h("div", { class: "empty" });
  const jump = h("button", { type: "button", class: "outlined jump", hidden: true, onclick: () => { follows = true; toEnd(); } }, strings.jump);
  const spoken = h("div", { class: "hidden-label", "aria-live": "polite" });
  const scroller = h("div", { class: "scroller", tabindex: -1 }, empty, list);
  const input = composer({ onSend: ask, onStop: stop, countTokens });
  const bar = h("header", { class: "bar" }, menu(), title, models,
    h("button", { type: "button", class: "quiet", onclick: () => openSettings(conversation.settings, changeSettings) }, strings.settings),
    h("button", { type: "button", class: "quiet wide-only", onclick: () => openShare(conversation) }, strings.share));
  const dropZone = h("div", { class: "chat" }, scroller, h("div", { class: "jump-row" }, jump), h("div", { class: "dock" }, input.element), spoken);
  let follows = true;
  let isClosed = false;

  scroller.addEventListener("scroll", () => {
    follows = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < nearEnd;
    jump.hidden = follows;
  }, { passive: true });
  dropZone.addEventListener("dragover", (event) => { if (event.dataTransfer.types.includes("Files")) event.preventDefault(); });
  dropZone.addEventListener("drop", (event) => {
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    input.addFiles([...event.dataTransfer.files]);
  });

  const toEnd = () => { scroller.scrollTop = scroller.scrollHeight; };
  const running = () => conversations.branch(conversation).find(conversations.isRunning);

  async function save() {
    await store.put(conversation).catch(() => {}); // main.js shows that nothing is stored
    if (!isStored && !isClosed) {
      isStored = true;
      history.replaceState(null, "", `#/chat/${conversation.id}`);
    }
    onChange();
  }

  function changeSettings(settings) {
    conversation.settings = settings;
    conversations.touch(conversation);
    if (isStored) save();
    showModels();
    input.measure();
  }

  function answerBelow(parent) {
    conversation.settings.model ||= defaultModel();
    const node = conversations.add(conversation, parent, { role: "assistant", text: "", status: "sending", model: conversation.settings.model });
    answers.setShown(conversation.id);
    answers.start(conversation, node);
    follows = true;
    show();
    save();
  }

  function ask(text, files) {
    if (running()) return;
    answerBelow(conversations.add(conversation, conversation.leaf, { role: "user", text, files }).id);
  }

  function stop() {
    const node = running();
    if (node) answers.stop(node).catch((problem) => openNotice(problem.message));
  }

  const actions = {
    onEdit: (node, text) => answerBelow(conversations.add(conversation, node.parent, { role: "user", text, files: node.files }).id),
    onRegenerate: (node) => answerBelow(node.parent),
    onContinue: (node) => { answers.start(conversation, node); show(); },
    onResults: (node, results) => answerBelow(conversations.add(conversation, node.id, { role: "tool", results }).id),
    onSwitch: (node, step) => { conversations.switchVersion(conversation, node, step); show(); save(); },
    onGrow(node) {
      if (follows) toEnd();
      if (conversations.isRunning(node)) return;
      if (input.wasRunning === node.id) speak(node);
      showRunning();
    },
    progressOf(node) {
      const entry = state()?.models.find((one) => one.name === node.model);
      if (node.isCancelled) return strings.stopping;
      return entry?.state === "loading" ? strings.loading(node.model, entry.load_progress) : strings.waiting;
    },
  };

  function speak(node) {
    input.wasRunning = null;
    spoken.textContent = node.text.slice(0, spokenMax);
    input.measure();
  }

  function showRunning() {
    const node = running();
    if (node) input.wasRunning = node.id;
    input.setRunning(Boolean(node));
  }

  function viewOf(node) {
    const isLast = () => conversation.leaf === node.id;
    if (node.role === "user") return questionView({ conversation, node, ...actions });
    return node.role === "tool" ? resultView({ node }) : answerView({ conversation, node, isLast, ...actions });
  }

  /// Shows the branch: views of messages that stay are kept, but for their feet.
  function show() {
    if (isClosed) return;
    const nodes = conversations.branch(conversation);
    const kept = new Set(nodes.map((node) => node.id));
    for (const [node, view] of shown) {
      if (kept.has(node)) continue;
      view.close();
      view.element.remove();
      shown.delete(node);
    }
    nodes.forEach((node, index) => {
      const old = shown.get(node.id);
      if (old?.show) old.show();
      else if (!old) shown.set(node.id, viewOf(node));
      const { element } = shown.get(node.id);
      if (list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null);
    });
    const name = conversations.titleOf(conversation) || strings.untitled;
    replace(title, name);
    document.title = `${name} · ${strings.title}`;
    showEmpty();
    showRunning();
    showModels();
    if (follows) toEnd();
  }

  function showEmpty() {
    empty.hidden = conversation.leaf !== null;
    if (empty.hidden) return;
    const hasNoModel = state() !== null && chatModels().length === 0;
    replace(empty, h("h2", {}, hasNoModel ? strings.noModel : strings.emptyTitle),
      h("p", { class: "note" }, hasNoModel ? strings.noModelHint : strings.emptyHint),
      hasNoModel ? h("pre", {}, h("code", {}, strings.noModelCommand))
        : h("div", { class: "examples" }, strings.emptyExamples.map((text) =>
          h("button", { type: "button", class: "outlined", onclick: () => input.fill(text) }, text))));
  }

  let shownNames = "";
  function showModels() {
    const chosen = conversation.settings.model || defaultModel();
    const names = chatModels().map((one) => one.name);
    if (chosen && !names.includes(chosen)) names.unshift(chosen);
    if (names.join("\n") !== shownNames) {
      shownNames = names.join("\n");
      replace(models, names.map((name) => h("option", { value: name }, name)));
    }
    models.value = chosen;
    models.disabled = names.length === 0;
  }

  async function countTokens(text, files) {
    const name = conversation.settings.model || defaultModel();
    const entry = state()?.models.find((one) => one.name === name);
    if (entry?.state !== "loaded" || (text === "" && files.length === 0 && conversation.leaf === null)) return null; // counting would load it
    const draft = { ...conversation, nodes: { ...conversation.nodes }, roots: [...conversation.roots], settings: { ...conversation.settings, model: name } };
    const parent = conversation.leaf;
    if (parent !== null) draft.nodes[parent] = { ...draft.nodes[parent], children: [] };
    const end = text === "" && files.length === 0 ? parent : conversations.add(draft, parent, { role: "user", text, files }).id;
    const { instructions, tools, input: items, text: format } = conversations.requestOf(draft, end);
    const counted = await request("v1/responses/input_tokens", { method: "POST", body: { model: name, instructions, tools, input: items, text: format } });
    return { used: counted.input_tokens, context: entry.context_tokens };
  }

  async function openStored() {
    const stored = await store.get(id).catch(() => undefined);
    if (!stored) return go("#/new");
    if (isClosed) return;
    conversation = stored;
    isStored = true;
    answers.setShown(id);
    show();
    input.measure();
    answers.resume(conversation);
  }

  async function openResponse() {
    const known = (await store.list()).find((one) => Object.values(one.nodes).some((node) => node.response === response));
    if (known) return go(`#/chat/${known.id}`);
    try {
      const { response: object, input: items } = await answers.fetchResponse(response);
      const made = conversations.fromResponse(object, items);
      await store.put(made);
      go(`#/chat/${made.id}`);
    } catch (problem) {
      replace(empty, h("p", { class: "bad" }, problem.status === 404 ? strings.gone : problem.message || strings.offline));
    }
  }

  const stopState = onState(() => {
    showModels();
    if (conversation.leaf === null && !response) showEmpty();
    for (const view of shown.values()) if (view.element.classList.contains("is-running")) view.show?.();
  });
  const reload = debounce(async () => {
    const stored = await store.get(conversation.id);
    if (!stored || isClosed) return;
    show();
    answers.resume(conversation);
  }, 100);
  const stopNews = store.onOtherTab((changed) => { if (changed === conversation.id && isStored) reload(); });

  show();
  if (id) openStored();
  else if (response) openResponse();
  return {
    element: [bar, offline, dropZone],
    conversationId: () => conversation.id,
    onStored: (changed) => { if (changed === conversation.id) reload(); },
    focus: input.focus,
    stop,
    close() {
      isClosed = true;
      stopState();
      stopNews();
      for (const view of shown.values()) view.close();
      if (!Object.values(conversation.nodes).some(conversations.isRunning)) store.release(conversation.id);
    },
  };
}
