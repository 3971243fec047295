// Requests to the server that this page comes from, and its event streams.

const keyName = "etna-key";

function storedKey() {
  try {
    return sessionStorage.getItem(keyName) ?? "";
  } catch {
    return ""; // a browser that keeps nothing
  }
}

let key = storedKey();
let askForKey = null;

/// `ask(wasRefused)`: called when the server refuses the key, or the lack of one; returns a promise of the next one, or null to
/// give up.
export function onKeyRefused(ask) { askForKey = ask; }

/// The key lives as long as the tab.
export function setKey(value) {
  key = value;
  try {
    sessionStorage.setItem(keyName, value);
  } catch {
    // it lives as long as the page
  }
}

/// Whether a header can carry the key: visible characters of ASCII.
export const isKey = (text) => /^[\x21-\x7e]+$/.test(text);

/// A refusal of the server, or no answer at all (status 0).
export class Problem extends Error {
  constructor(status, message, code = "") {
    super(message);
    this.status = status;
    this.code = code;
  }
}

async function problemOf(reply) {
  const text = await reply.text().catch(() => "");
  try {
    const { error } = JSON.parse(text);
    const message = typeof error === "string" ? error : error.message;
    return new Problem(reply.status, message, error.code ?? error.type ?? "");
  } catch {
    const isPage = /^\s*</.test(text); // a proxy's, for people
    return new Problem(reply.status, isPage || text === "" ? `${reply.status} ${reply.statusText}` : text.slice(0, 500));
  }
}

async function send(path, { method = "GET", body, signal } = {}) {
  const headers = {};
  if (key) headers.authorization = `Bearer ${key}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  try {
    return await fetch(path, { method, headers, signal, cache: "no-store",
      body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "");
  }
}

/// Sends a request, asks for a key if one is missing, and returns the reply. Throws Problem, AbortError.
async function fetchReply(path, options) {
  for (;;) {
    const reply = await send(path, options);
    if (reply.ok) return reply;
    if (reply.status !== 401 || askForKey === null) throw await problemOf(reply);
    const next = await askForKey(key !== "");
    if (next === null) throw await problemOf(reply);
    setKey(next);
  }
}

/// Returns the JSON of a reply. Throws Problem, AbortError.
export async function request(path, options) {
  const reply = await fetchReply(path, options);
  const text = await reply.text();
  return text === "" ? null : JSON.parse(text);
}

async function* chunksOf(reply) {
  const decoder = new TextDecoder();
  const reader = reply.body.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read().catch((error) => {
        if (error.name === "AbortError") throw error;
        throw new Problem(0, "");
      });
      if (done) break;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/// Yields the JSON of each server-sent event. Throws Problem, AbortError. Source: HTML standard, 9.2.6.
export async function* events(path, options) {
  let rest = "";
  for await (const chunk of chunksOf(await fetchReply(path, options))) {
    const parts = (rest + chunk).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const data = part.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart());
      if (data.length === 0) continue; // a comment that keeps the connection open
      if (data[0] === "[DONE]") return;
      yield JSON.parse(data.join("\n"));
    }
  }
}

/// Yields the JSON of each line. Throws Problem, AbortError.
export async function* lines(path, options) {
  let rest = "";
  for await (const chunk of chunksOf(await fetchReply(path, options))) {
    const parts = (rest + chunk).split("\n");
    rest = parts.pop();
    for (const part of parts) if (part.trim() !== "") yield JSON.parse(part);
  }
  if (rest.trim() !== "") yield JSON.parse(rest);
}

let latest = null;
const listeners = new Set();

/// The latest GET /page/state, or null.
export const state = () => latest;

/// Calls `listener` with each new state; returns a function that stops it.
export function onState(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

let failure = null;

/// Why the latest state could not be had, or null.
export const stateFailure = () => failure;

/// Fetches the state and notifies the listeners.
export async function refreshState() {
  try {
    latest = await request("page/state");
    failure = null;
  } catch (problem) {
    failure = problem;
  }
  for (const listener of [...listeners]) listener(latest, failure);
}

/// Fetches the state as often as something is seen to change: `interval_ms` returns the wait before the next.
export function pollState(interval_ms) {
  let timer = 0;
  const poll = async () => {
    clearTimeout(timer);
    if (!document.hidden) await refreshState();
    timer = setTimeout(poll, interval_ms());
  };
  document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
  poll();
}
