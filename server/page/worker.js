// The service worker: the page opens without the server, so that old chats can be read. It keeps the files of one version,
// and nothing else: answers, keys and states pass it by.

const cacheName = "etna-page-@HASH@";
const frame = ["./", "icon.svg", "manifest.webmanifest"];

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(cacheName)
    .then((cache) => cache.addAll(frame.map((path) => new Request(new URL(path, self.registration.scope), { cache: "reload" }))))
    .then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil(caches.keys()
    .then((names) => Promise.all(names.filter((name) => name.startsWith("etna-page-") && name !== cacheName).map((name) => caches.delete(name))))
    .then(() => self.clients.claim()));
});

/// The page lists the files that it loaded before this worker was active.
self.addEventListener("message", (event) => {
  const addresses = event.data.filter((address) => /\/page\/[0-9a-f]{16}\//.test(address));
  event.waitUntil(caches.open(cacheName).then((cache) => cache.addAll(addresses)));
});

async function fromServerFirst(request) {
  const cache = await caches.open(cacheName);
  try {
    const reply = await fetch(request);
    if (reply.ok) await cache.put(request, reply.clone());
    return reply;
  } catch (error) {
    const kept = await cache.match(request, { ignoreSearch: true, ignoreVary: true });
    if (kept) return kept;
    throw error;
  }
}

async function fromCacheFirst(request) {
  const cache = await caches.open(cacheName);
  const kept = await cache.match(request, { ignoreVary: true });
  if (kept) return kept;
  const reply = await fetch(request);
  if (reply.ok) await cache.put(request, reply.clone());
  return reply;
}

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  const path = event.request.url.slice(self.registration.scope.length).split(/[?#]/)[0];
  if (/^page\/[0-9a-f]{16}\//.test(path)) event.respondWith(fromCacheFirst(event.request));
  else if (path === "" || frame.includes(path)) event.respondWith(fromServerFirst(event.request));
});
