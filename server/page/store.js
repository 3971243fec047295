// Conversations in IndexedDB, one record each, and news of changes in other tabs.

import { merge } from "./conversation.js";

const name = "etna";
const version = 1;
const channel = "BroadcastChannel" in self ? new BroadcastChannel("etna-conversations") : null;

let opened = null;

function open() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(name, version);
    request.onupgradeneeded = () => request.result.createObjectStore("conversations", { keyPath: "id" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opened;
}

async function run(mode, work) {
  const database = await open();
  return new Promise((resolve, reject) => {
    const transaction = database.transaction("conversations", mode);
    const request = work(transaction.objectStore("conversations"));
    transaction.oncomplete = () => resolve(request.result);
    transaction.onerror = () => reject(transaction.error);
    transaction.onabort = () => reject(transaction.error);
  });
}

const inUse = new Map(); // id -> the object that views and running answers share
const removed = new Set();

/// The one object of a conversation in this tab, merged with the stored copy.
function shared(stored) {
  const known = inUse.get(stored.id);
  if (known) return merge(known, stored);
  inUse.set(stored.id, stored);
  return stored;
}

/// Whether conversations are kept: some browsers allow no database.
export const isAvailable = () => open().then(() => true, () => false);

/// Returns all conversations, the last changed first. They are copies, to be listed.
export async function list() {
  const all = await run("readonly", (store) => store.getAll());
  return all.sort((one, other) => other.updated - one.updated);
}

/// Returns a conversation, or undefined. It is the same object for all who ask in this tab.
export async function get(id) {
  const stored = await run("readonly", (store) => store.get(id));
  return stored ? shared(stored) : inUse.get(id);
}

/// Stores the conversation, merged with the copy of another tab, and notifies the other tabs. A conversation that was removed,
/// here or there, stays removed.
export async function put(conversation) {
  if (removed.has(conversation.id)) return;
  inUse.set(conversation.id, conversation);
  await run("readwrite", (store) => {
    const stored = store.get(conversation.id);
    stored.onsuccess = () => {
      if (!stored.result && conversation.stored) return void removed.add(conversation.id);
      if (stored.result) merge(conversation, stored.result);
      conversation.stored = true;
      store.put(conversation);
    };
    return stored;
  });
  channel?.postMessage(conversation.id);
}

export async function remove(id) {
  removed.add(id);
  inUse.delete(id);
  await run("readwrite", (store) => store.delete(id));
  channel?.postMessage(id);
}

/// Forgets the object of a conversation that no view shows and no answer changes.
export const release = (id) => inUse.delete(id);

/// Calls `listener` with the id of a conversation that another tab changed or removed; returns a function that stops it.
export function onOtherTab(listener) {
  const take = (event) => listener(event.data);
  channel?.addEventListener("message", take);
  return () => channel?.removeEventListener("message", take);
}
