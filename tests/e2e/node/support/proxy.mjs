// For programs with long prompts: a model whose context fits them, and a proxy that shows their requests.

import { readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const CONTEXT_TOKENS = 32_768;
const fileOf = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The embedded model with a longer context: one changed number of its metadata. */
export function longDemo(folder) {
  const bytes = readFileSync(fileOf('../../../../core/store/demo/demo.gguf'));
  const key = 'qwen3.context_length';
  const end = bytes.indexOf(key) + key.length;
  const UINT32 = 4; // GGUF's type number
  if (bytes.readUInt32LE(end) !== UINT32) throw new Error(`${key} is no uint32`);
  bytes.writeUInt32LE(CONTEXT_TOKENS, end + 4);
  const path = join(folder, 'demo.gguf');
  writeFileSync(path, bytes);
  return path;
}

/** A proxy that records requests: {address, exchanges: [{path, body, status, ignored}], stop}. */
export async function recordingProxy(target) {
  const exchanges = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const { host, connection, 'content-length': length, ...headers } = request.headers;
    const answer = await fetch(target + request.url, { method: request.method, headers, body: body || undefined });
    exchanges.push({
      path: request.url,
      body: body ? JSON.parse(body) : null,
      status: answer.status,
      ignored: answer.headers.get('etna-ignored')?.split(', ') ?? [],
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') });
    if (answer.body) Readable.fromWeb(answer.body).pipe(response);
    else response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { address: `http://127.0.0.1:${server.address().port}`, exchanges, stop: () => server.close() };
}
