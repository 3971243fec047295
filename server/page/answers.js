// Running answers. Each is a background response of the server, which continues when the page is closed; the page then
// follows it from the event after the last one seen. One tab follows an answer; when it is closed, another takes over.

import { events, Problem, request, state } from "./api.js";
import { causeOf, isRunning, requestOf, touch } from "./conversation.js";
import * as store from "./store.js";

const saveInterval_ms = 1000;
const firstRetry_ms = 500;
const longestRetry_ms = 5000;

// A browser opens six connections to an origin: streams leave some for everything else, and the shown answer comes first.
const streamsMax = 3;

const listeners = new Map(); // node id -> Set
const followed = new Map(); // node id -> AbortController
let streams = 0;
let shownId = null;

/// Names the conversation on screen, whose answers are streamed first.
export function setShown(id) { shownId = id; }

/// Calls `listener(node)` at each change of an answer; returns a function that stops it.
export function onAnswer(id, listener) {
  const set = listeners.get(id) ?? new Set();
  listeners.set(id, set.add(listener));
  return () => set.delete(listener);
}

function tell(node) {
  for (const listener of [...(listeners.get(node.id) ?? [])]) listener(node);
}

/// An answer that changes, with its conversation, stored now and then.
class Running {
  constructor(conversation, node) {
    this.conversation = conversation;
    this.node = node;
    this.savedAt = 0;
  }

  change(values = {}) {
    Object.assign(this.node, values);
    touch(this.node);
    tell(this.node);
    if (Date.now() - this.savedAt > saveInterval_ms) this.save();
  }

  save() {
    this.savedAt = Date.now();
    return store.put(this.conversation).catch(() => {});
  }

  /// Takes one event of the stream. Source: OpenAI API 2.3.0, ResponseStreamEvent.
  take(event) {
    const { node } = this;
    if (event.sequence_number <= node.sequence) return; // seen before
    node.sequence = event.sequence_number;
    const now = Date.now();
    switch (event.type) {
    case "response.created":
      this.change({ status: "running", response: event.response.id, model: event.response.model });
      if (node.isCancelled) stop(node).catch(() => {});
      return void this.save(); // without its id, the answer could not be followed again
    case "response.in_progress":
      return this.change({ begun_ms: node.begun_ms ?? now });
    case "response.reasoning_text.delta":
      return this.change({ first_ms: node.first_ms ?? now, reasoning: (node.reasoning ?? "") + event.delta });
    case "response.output_text.delta":
      return this.change({ first_ms: node.first_ms ?? now, text: node.text + event.delta, ...this.thoughtUntil(now) });
    case "response.output_item.added":
      if (event.item.type === "function_call") this.addCall(event, now);
      return;
    case "response.function_call_arguments.delta":
      return this.extendCall(event);
    case "response.completed":
    case "response.incomplete":
    case "response.failed":
      return this.end(event.response);
    }
  }

  thoughtUntil(now) {
    const { node } = this;
    return node.reasoning && node.thought_ms === undefined ? { thought_ms: now - (node.first_ms ?? now) } : {};
  }

  addCall(event, now) {
    const { item } = event;
    const call = { output_index: event.output_index, call_id: item.call_id, name: item.name, arguments: "" };
    this.change({ first_ms: this.node.first_ms ?? now, calls: [...(this.node.calls ?? []), call], ...this.thoughtUntil(now) });
  }

  extendCall(event) {
    const call = this.node.calls?.find((one) => one.output_index === event.output_index);
    if (call) call.arguments += event.delta;
    this.change();
  }

  end(response) {
    const { node } = this;
    const usage = response.usage && {
      input: response.usage.input_tokens, cached: response.usage.input_tokens_details.cached_tokens,
      output: response.usage.output_tokens, reasoning: response.usage.output_tokens_details.reasoning_tokens };
    const isInterrupted = response.status === "failed" && !response.error?.message;
    this.change({ status: isInterrupted ? "interrupted" : response.status, error: response.error?.message ?? null,
      reason: response.incomplete_details?.reason ?? null, usage: usage ?? node.usage, timings: response.etna?.timings ?? null,
      ended_ms: Date.now(), waits: false, ...this.thoughtUntil(Date.now()) });
    if (usage && node.request) Object.assign(node, causeOf(node.request, this.requestBefore(), usage));
    delete node.request;
    this.change();
    this.save();
  }

  /// The request of the answer that was given last before this one, or null.
  requestBefore() {
    const { conversation, node } = this;
    const before = Object.values(conversation.nodes).filter((one) =>
      one.role === "assistant" && one.id !== node.id && one.usage && one.started_ms < node.started_ms)
      .sort((one, other) => other.started_ms - one.started_ms)[0];
    if (!before) return null;
    try {
      return { ...requestOf({ ...conversation, settings: before.settings ?? conversation.settings }, before.parent), model: before.model };
    } catch {
      return null;
    }
  }

  fail(problem) {
    this.change({ status: "failed", error: problem.message, ended_ms: Date.now(), waits: false });
    this.save();
  }
}

const pause = (ms, signal) => new Promise((resolve) => {
  const end = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    resolve();
  };
  const timer = setTimeout(end, ms);
  signal.addEventListener("abort", end);
});

const passing = [0, 429, 500, 502, 503, 504];
const isPassing = (problem) => problem instanceof Problem && passing.includes(problem.status);
const isFinal = (response) => response.status !== "queued" && response.status !== "in_progress";
const pathOf = (id) => `v1/responses/${encodeURIComponent(id)}`;
const cancel = (node) => request(`${pathOf(node.response)}/cancel`, { method: "POST", body: {} });
const mayStream = (running) => streams < streamsMax + (running.conversation.id === shownId ? 1 : 0);

/// Takes the events of a stream. New answers are streamed at once: an answer off screen then ends its stream if there are too
/// many, and is followed later.
async function takeStream(running, path, options) {
  ++streams;
  try {
    for await (const event of events(path, options)) {
      if (running.node.waits) running.change({ waits: false });
      running.take(event);
      if (streams > streamsMax + 1 && running.node.response && running.conversation.id !== shownId) return;
    }
  } finally {
    --streams;
  }
}

/// Follows a response that the server has, until it ends; waits for a server that does not answer.
async function follow(running, signal) {
  const { node } = running;
  let retry_ms = firstRetry_ms;
  while (isRunning(node) && !signal.aborted) {
    if (!mayStream(running)) {
      await pause(firstRetry_ms, signal);
      continue;
    }
    try {
      if (node.isCancelled) await cancel(node);
      const seen = node.sequence;
      await takeStream(running, `${pathOf(node.response)}?stream=true${seen >= 0 ? `&starting_after=${seen}` : ""}`, { signal });
      if (node.sequence > seen) retry_ms = firstRetry_ms;
      if (!isRunning(node)) return;
      const response = await request(pathOf(node.response), { signal }); // the stream ended without the end of the answer
      if (isFinal(response)) return running.end(response);
    } catch (problem) {
      if (signal.aborted) return;
      if (problem.status === 404) return running.change({ status: "gone", waits: false, ended_ms: Date.now() }), running.save();
      if (problem.status === 400) return running.end(await request(pathOf(node.response), { signal }));
      if (!isPassing(problem)) return running.fail(problem);
      running.change({ waits: true });
    }
    await pause(retry_ms, signal);
    retry_ms = Math.min(2 * retry_ms, longestRetry_ms);
  }
}

/// Sends the request of a new answer and follows it.
async function begin(running, body, signal) {
  try {
    await takeStream(running, "v1/responses", { method: "POST", body, signal });
  } catch (problem) {
    if (signal.aborted) return;
    if (!running.node.response) return running.fail(problem);
  }
  if (body.store) return follow(running, signal);
  if (isRunning(running.node)) running.change({ status: "interrupted", ended_ms: Date.now() });
  await running.save();
}

/// Runs `work` while no other tab follows this answer.
function alone(node, signal, work) {
  if (!navigator.locks) return work();
  return navigator.locks.request(`etna-answer-${node.id}`, { signal }, work).catch(() => {});
}

function track(node, work) {
  const control = new AbortController();
  followed.set(node.id, control);
  work(control.signal).finally(() => followed.delete(node.id));
}

/// Starts the answer `node`: of a new last message, or the continuation of its text. It fails if its schema or tools are not
/// JSON.
export function start(conversation, node) {
  const isContinued = node.text !== "";
  const isStored = state()?.stores_responses !== false;
  const running = new Running(conversation, node);
  let body;
  try {
    body = requestOf(conversation, isContinued ? node.id : node.parent, isStored);
  } catch (problem) { // an imported schema or list of tools
    return running.fail(problem);
  }
  for (const name of ["response", "first_ms", "thought_ms", "begun_ms", "ended_ms", "usage", "timings", "error", "isCancelled"]) delete node[name];
  Object.assign(node, { status: "sending", sequence: -1, isStored, started_ms: Date.now(), request: body, settings: { ...conversation.settings } });
  running.save();
  track(node, (signal) => alone(node, signal, () => begin(running, body, signal)));
}

/// Follows the answers of a conversation that ran when a page was closed.
export function resume(conversation) {
  for (const node of Object.values(conversation.nodes)) {
    if (!isRunning(node) || followed.has(node.id)) continue;
    const running = new Running(conversation, node);
    track(node, (signal) => alone(node, signal, async () => {
      await store.get(conversation.id); // another tab may have followed it to its end
      tell(node);
      if (!isRunning(node)) return;
      if (!node.response || node.isStored === false) return running.change({ status: "interrupted", ended_ms: Date.now() }), running.save();
      await follow(running, signal);
    }));
  }
}

/// Cancels an answer; its text so far is kept. If the server does not reply, the cancellation follows when it does.
export async function stop(node) {
  node.isCancelled = true;
  tell(node);
  if (!node.response) return;
  if (node.isStored === false) { // the server ends it when its stream is closed
    followed.get(node.id)?.abort();
    Object.assign(node, { status: "cancelled", ended_ms: Date.now() });
    return tell(node);
  }
  try {
    await cancel(node);
  } catch (problem) {
    if (!isPassing(problem)) throw problem;
  }
}

/// Ends the thought of a running answer, so that its text begins.
export const endThinking = (node) =>
  request(`${pathOf(node.response)}/control`, { method: "POST", body: { action: "reasoning_end" } });

/// Stops following the answers of a conversation, and removes them from the server.
export async function forget(conversation) {
  for (const node of Object.values(conversation.nodes)) followed.get(node.id)?.abort();
  for (const node of Object.values(conversation.nodes)) {
    if (!node.response) continue;
    if (isRunning(node)) await cancel(node).catch(() => {});
    await request(pathOf(node.response), { method: "DELETE" }).catch(() => {});
  }
}

/// Returns {response, input}: a response of the server, and the items of its input.
export async function fetchResponse(id) {
  const path = pathOf(id);
  const response = await request(path);
  const input = [];
  for (let after = ""; ;) {
    const page = await request(`${path}/input_items?order=asc&limit=100${after}`);
    input.push(...page.data);
    if (!page.has_more) break;
    after = `&after=${encodeURIComponent(page.last_id)}`;
  }
  return { response, input };
}

