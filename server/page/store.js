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

/// Returns all conversations, the last changed first.
export async function list() {
  const all = await run("readonly", (store) => store.getAll());
  return all.sort((one, other) => other.updated - one.updated);
}

export const get = (id) => run("readonly", (store) => store.get(id));

/// Stores the conversation, merged with what another tab stored, and tells the other tabs.
export async function put(conversation) {
  await run("readwrite", (store) => {
    const stored = store.get(conversation.id);
    stored.onsuccess = () => {
      if (stored.result) merge(conversation, stored.result);
      store.put(conversation);
    };
    return stored;
  });
  channel?.postMessage(conversation.id);
}

export async function remove(id) {
  await run("readwrite", (store) => store.delete(id));
  channel?.postMessage(id);
}

/// Calls `listener` with the id of a conversation that another tab changed or removed; returns a function that stops it.
export function onOtherTab(listener) {
  const take = (event) => listener(event.data);
  channel?.addEventListener("message", take);
  return () => channel?.removeEventListener("message", take);
}
