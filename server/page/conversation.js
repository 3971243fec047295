// A conversation: a tree of messages, of which one branch is shown; and the request that a branch makes. No DOM.
//
//   conversation {id, title, pinned, created, updated, settings, nodes: {id: node}, roots: [id], leaf}
//   node         {id, parent, children: [id], role: "user" | "assistant" | "tool", ...}
//   user         text, files: [{name, text}]
//   tool         results: [{call_id, output}]
//   assistant    model, text, reasoning, calls: [{call_id, name, arguments}], status, error, response, sequence, usage,
//                timings, started_ms, first_ms, ended_ms, thought_ms, cause
//   Each node and the conversation count their changes in `revision`, so that the copies of two tabs can be merged.
//   settings     {model, system, temperature, top_p, top_k, min_p, seed, max_output_tokens, thinking, thinking_budget,
//                schema, tools}, texts as typed; empty: the model's value

export const format = "etna-conversations-1";

export const newId = () => crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint8Array(16)),
  (byte) => byte.toString(16).padStart(2, "0")).join("");

export function create(settings = {}) {
  const now = Date.now();
  return { id: newId(), revision: 0, title: "", pinned: false, created: now, updated: now, settings: { ...settings }, nodes: {},
    roots: [], leaf: null };
}

/// Counts a change of a node's or the conversation's own members.
export function touch(part) {
  part.revision = (part.revision ?? 0) + 1;
}

const union = (some, others) => [...some, ...others.filter((id) => !some.includes(id))];

/// Takes over what another tab changed: its nodes, and of each part the copy with more changes. `ours` stays the object that
/// views hold, as do its nodes.
export function merge(ours, stored) {
  for (const [id, node] of Object.entries(stored.nodes)) {
    const own = ours.nodes[id];
    if (!own) {
      ours.nodes[id] = node;
      continue;
    }
    const children = union(node.children, own.children);
    if ((node.revision ?? 0) > (own.revision ?? 0)) Object.assign(own, node);
    own.children = children;
  }
  ours.roots = union(stored.roots, ours.roots);
  ours.leaf ??= stored.leaf;
  if ((stored.revision ?? 0) > (ours.revision ?? 0)) {
    const { revision, title, pinned, settings } = stored;
    Object.assign(ours, { revision, title, pinned, settings });
  }
  ours.updated = Math.max(ours.updated, stored.updated);
  return ours;
}

/// Adds a node below `parent` (null: a first message), and shows its branch.
export function add(conversation, parent, node) {
  const added = { id: newId(), parent, children: [], ...node };
  conversation.nodes[added.id] = added;
  siblingsOf(conversation, added).push(added.id);
  conversation.leaf = added.id;
  conversation.updated = Date.now();
  return added;
}

function siblingsOf(conversation, node) {
  return node.parent === null ? conversation.roots : conversation.nodes[node.parent].children;
}

/// Returns the nodes from the first message to the given one, by default to the end of the branch that is shown.
export function branch(conversation, last = conversation.leaf) {
  const nodes = [];
  for (let id = last; id !== null; id = conversation.nodes[id].parent) nodes.unshift(conversation.nodes[id]);
  return nodes;
}

/// Returns {index, total}, of a node among the versions of its place.
export function version(conversation, node) {
  const siblings = siblingsOf(conversation, node);
  return { index: siblings.indexOf(node.id), total: siblings.length };
}

/// Shows the version that is `step` away, to the end of its newest branch.
export function switchVersion(conversation, node, step) {
  const siblings = siblingsOf(conversation, node);
  let shown = conversation.nodes[siblings[siblings.indexOf(node.id) + step]];
  while (shown.children.length > 0) shown = conversation.nodes[shown.children.at(-1)];
  conversation.leaf = shown.id;
}

export const isRunning = (node) => node.role === "assistant" && (node.status === "sending" || node.status === "running");

/// The first words of the first question.
export function titleOf(conversation) {
  if (conversation.title) return conversation.title;
  const first = conversation.roots.length > 0 ? conversation.nodes[conversation.roots[0]] : null;
  if (!first) return "";
  const words = (first.text || first.files?.[0]?.name || "").trim().replace(/\s+/g, " ");
  return words.length > 60 ? `${words.slice(0, 57)}...` : words;
}

/// Whether a message or the title contains the words, in any case.
export function matches(conversation, words) {
  const wanted = words.toLowerCase();
  return titleOf(conversation).toLowerCase().includes(wanted) ||
    Object.values(conversation.nodes).some((node) => (node.text ?? "").toLowerCase().includes(wanted));
}

export function textOfUser(node) {
  const files = (node.files ?? []).map((file) => `File ${file.name}:\n${file.text}\n`);
  return [...files, node.text].join("\n");
}

function itemsOf(node) {
  if (node.role === "user") return [{ role: "user", content: textOfUser(node) }];
  if (node.role === "tool")
    return node.results.map((result) => ({ type: "function_call_output", call_id: result.call_id, output: result.output }));
  const items = [];
  if (node.text) items.push({ role: "assistant", content: node.text });
  for (const call of node.calls ?? [])
    items.push({ type: "function_call", call_id: call.call_id, name: call.name, arguments: call.arguments });
  return items;
}

function numberOf(text) {
  const number = Number(text);
  return text === undefined || text === null || String(text).trim() === "" || !Number.isFinite(number) ? undefined : number;
}

/// The part of a request that comes before all messages: what changes it changes the prompt from its beginning.
function preamble(settings) {
  const body = {};
  if (settings.model) body.model = settings.model; // else the server's default
  if (settings.system?.trim()) body.instructions = settings.system;
  if (settings.tools?.trim()) body.tools = JSON.parse(settings.tools);
  if (settings.schema?.trim()) {
    body.text = { format: { type: "json_schema", name: "answer", strict: true, schema: JSON.parse(settings.schema) } };
  }
  if (settings.thinking) body.chat_template_kwargs = { enable_thinking: settings.thinking === "on" };
  return body;
}

/// The body of POST /v1/responses that answers the branch up to `last`. If that is an assistant's, its text is continued.
/// `isStored`: the server keeps the answer, and generates it in the background. Throws SyntaxError if the schema or the tools are
/// not JSON.
export function requestOf(conversation, last, isStored = true) {
  const { settings } = conversation;
  const nodes = branch(conversation, last);
  const body = { ...preamble(settings), input: nodes.flatMap(itemsOf), background: isStored, stream: true, store: isStored,
    reasoning_control: true, include: ["etna.timings"] };
  for (const name of ["temperature", "top_p", "top_k", "min_p", "seed", "max_output_tokens"]) {
    const number = numberOf(settings[name]);
    if (number !== undefined) body[name] = number;
  }
  const budget = numberOf(settings.thinking_budget);
  if (budget !== undefined) body.reasoning_budget_tokens = budget;
  if (nodes.at(-1)?.role === "assistant") body.continue_final_message = true;
  return body;
}

/// Why an answer read what it read: a key of strings.causes, and the number of the first message that differs. `before`:
/// the request of the answer before in the same conversation, or null.
export function causeOf(body, before, usage) {
  if (before === null) return { cause: usage.cached > 0 ? "shared" : "first" };
  if (before.model !== body.model) return { cause: "model" };
  for (const name of ["instructions", "tools", "chat_template_kwargs"])
    if (JSON.stringify(before[name]) !== JSON.stringify(body[name])) return { cause: "instructions" };
  const common = Math.min(before.input.length, body.input.length);
  for (let index = 0; index < common; ++index)
    if (JSON.stringify(before.input[index]) !== JSON.stringify(body.input[index])) return { cause: "edited", turn: index + 1 };
  return { cause: usage.cached > 0 ? "cached" : "evicted" };
}

const textOfParts = (content) => typeof content === "string" ? content
  : (content ?? []).map((part) => part.text ?? part.refusal ?? "").join("");

/// Takes the items of an answer's output, or of an assistant's turn in an input.
function takeItem(node, item, index) {
  if (item.type === "reasoning") node.reasoning = (node.reasoning ?? "") + textOfParts(item.content);
  else if (item.type === "function_call")
    node.calls = [...(node.calls ?? []), { output_index: index, call_id: item.call_id, name: item.name, arguments: item.arguments }];
  else node.text += textOfParts(item.content);
}

/// Makes a conversation of a response of the server and the items of its input. Source: OpenAI API 2.3.0, Response.
export function fromResponse(response, input) {
  const conversation = create({ model: response.model, system: response.instructions ?? "" });
  let last = null;
  const append = (node) => { last = add(conversation, last?.id ?? null, node); };
  for (const item of input) {
    const role = item.type === "function_call_output" ? "tool" : item.type === "message" ? item.role : "assistant";
    if (role === "system" || role === "developer") {
      conversation.settings.system = textOfParts(item.content);
    } else if (role === "tool") {
      if (last?.role !== "tool") append({ role, results: [] });
      last.results.push({ call_id: item.call_id, output: textOfParts(item.output) });
    } else if (role === "user") {
      append({ role, text: textOfParts(item.content), files: [] });
    } else {
      if (last?.role !== "assistant") append({ role, text: "", model: response.model, status: "completed" });
      takeItem(last, item, 0);
    }
  }
  const isOpen = response.status === "queued" || response.status === "in_progress";
  append({ role: "assistant", text: "", model: response.model, response: response.id, status: isOpen ? "running" : response.status,
    error: response.error?.message ?? null, sequence: -1, started_ms: response.created_at * 1000 });
  if (!isOpen) response.output.forEach((item, index) => takeItem(last, item, index));
  return conversation;
}

export function exportOf(conversations) {
  return { format, conversations };
}

const textOr = (value, otherwise) => typeof value === "string" ? value : otherwise;
const numberOr = (value, otherwise) => typeof value === "number" && Number.isFinite(value) ? value : otherwise;
const listOf = (value, make) => Array.isArray(value) ? value.map(make) : [];

function usageOf(value) {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.fromEntries(["input", "cached", "output", "reasoning"].map((name) => [name, numberOr(value[name], 0)]));
}

function timingsOf(value) {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.fromEntries(["load_ms", "queue_ms", "prompt_ms", "generation_ms"].map((name) => [name, numberOr(value[name], 0)]));
}

function settingsOf(value) {
  const names = ["model", "system", "temperature", "top_p", "top_k", "min_p", "seed", "max_output_tokens", "thinking", "thinking_budget", "schema", "tools"];
  return Object.fromEntries(names.map((name) => [name, textOr(value?.[name], "")]));
}

const ended = ["completed", "incomplete", "cancelled", "failed", "interrupted", "gone"];
const causes = ["first", "shared", "instructions", "model", "edited", "evicted", "cached"];

/// The members of a message that an import may have, each of its type.
function messageOf(node) {
  if (node.role === "user")
    return { text: textOr(node.text, ""), files: listOf(node.files, (file) => ({ name: textOr(file?.name, ""), text: textOr(file?.text, "") })) };
  if (node.role === "tool")
    return { results: listOf(node.results, (one) => ({ call_id: textOr(one?.call_id, ""), output: textOr(one?.output, "") })) };
  return { text: textOr(node.text, ""), reasoning: textOr(node.reasoning, ""), model: textOr(node.model, ""),
    calls: listOf(node.calls, (one, index) => ({ output_index: index, call_id: textOr(one?.call_id, ""), name: textOr(one?.name, ""),
      arguments: textOr(one?.arguments, "") })),
    status: ended.includes(node.status) ? node.status : "interrupted", error: textOr(node.error, null), usage: usageOf(node.usage),
    timings: timingsOf(node.timings), started_ms: numberOr(node.started_ms, 0), first_ms: numberOr(node.first_ms, undefined),
    ended_ms: numberOr(node.ended_ms, 0), thought_ms: numberOr(node.thought_ms, undefined), response: textOr(node.response, undefined),
    cause: causes.includes(node.cause) ? node.cause : undefined, turn: numberOr(node.turn, undefined), settings: settingsOf(node.settings) };
}

/// Returns a copy of an imported conversation with a new id and the known members only, or null if its tree is broken.
function cleaned(value) {
  if (typeof value !== "object" || value === null || typeof value.nodes !== "object" || value.nodes === null || !Array.isArray(value.roots)) return null;
  const made = { ...create(settingsOf(value.settings)), title: textOr(value.title, "").slice(0, 200), pinned: value.pinned === true,
    created: numberOr(value.created, Date.now()), updated: numberOr(value.updated, Date.now()) };
  const find = (id) => typeof id === "string" && Object.hasOwn(value.nodes, id) ? value.nodes[id] : null;
  const waiting = value.roots.map((id) => [id, null]).reverse();
  while (waiting.length > 0) { // the tree from its roots: a cycle has none
    const [id, parent] = waiting.pop();
    const node = find(id);
    if (node === null || Object.hasOwn(made.nodes, id) || !["user", "assistant", "tool"].includes(node.role) || !Array.isArray(node.children)) return null;
    made.nodes[id] = { id, parent, children: [...node.children], role: node.role, ...messageOf(node) };
    for (const child of [...node.children].reverse()) waiting.push([child, id]);
  }
  if (Object.keys(made.nodes).length !== Object.keys(value.nodes).length) return null;
  made.roots = [...value.roots];
  made.leaf = typeof value.leaf === "string" && Object.hasOwn(made.nodes, value.leaf) ? value.leaf : null;
  if (made.leaf === null && value.leaf !== null) return null;
  return made;
}

/// Returns the conversations of an export with new ids, or null if it is none.
export function importOf(value) {
  if (value?.format !== format || !Array.isArray(value.conversations)) return null;
  const made = value.conversations.map(cleaned);
  return made.includes(null) ? null : made;
}
