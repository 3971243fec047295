// Codex CLI from npm, with a temporary home, and a model whose context is large enough for its prompts.

import { spawn } from 'node:child_process';
import { mkdtempSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { startServerOf } from './server.mjs';

const CONTEXT_TOKENS = 32_768;
const PATIENCE_MS = 300_000;
const fileOf = (path) => fileURLToPath(new URL(path, import.meta.url));
const CODEX = fileOf('../../node_modules/.bin/codex');

/** The embedded model with a longer context: one changed number of its metadata. */
function longDemo(folder) {
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
async function recordingProxy(target) {
  const exchanges = [];
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const headers = { 'content-type': 'application/json', accept: request.headers.accept ?? '*/*' };
    const answer = await fetch(target + request.url, { method: request.method, headers, body: body || undefined });
    exchanges.push({
      path: request.url,
      body: body ? JSON.parse(body) : null,
      status: answer.status,
      ignored: answer.headers.get('etna-ignored')?.split(', ') ?? [],
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') });
    Readable.fromWeb(answer.body).pipe(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { address: `http://127.0.0.1:${server.address().port}`, exchanges, stop: () => server.close() };
}

/** A user's configuration: a provider and an MCP server; no other servers are contacted. */
const config = (address) => `
model = "demo"
model_provider = "etna"
check_for_update_on_startup = false

[analytics]
enabled = false

[feedback]
enabled = false

[model_providers.etna]
name = "etna"
base_url = "${address}/v1"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[mcp_servers.weather]
command = "${process.execPath}"
args = ["${fileOf('weather_mcp.mjs')}"]
`;

/** {exec, exchanges, folder, stop}: a server, and Codex set up for it. */
export async function startCodex() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'etna-codex-')));
  const [home, work] = [join(folder, 'home'), join(folder, 'work')];
  [home, work].forEach((one) => mkdirSync(one));
  // Codex requests no strict tools, and so small a model does not always name arguments correctly.
  const etna = await startServerOf(longDemo(folder), '--chat-template', fileOf('codex.jinja'), '--tools-strict');
  const proxy = await recordingProxy(etna.address);
  writeFileSync(join(home, 'config.toml'), config(proxy.address));
  // Only this machine is reachable: a test contacts no other server.
  const nowhere = 'http://127.0.0.1:9';
  const env = { PATH: process.env.PATH, HOME: home, CODEX_HOME: home, HTTP_PROXY: nowhere, HTTPS_PROXY: nowhere, NO_PROXY: '127.0.0.1' };

  /** The JSON events of `codex exec`, with the requests that it sent. */
  async function exec(...args) {
    const before = proxy.exchanges.length;
    const child = spawn(CODEX, ['exec', '--strict-config', '--skip-git-repo-check', '--json', ...args], {
      cwd: work,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: PATIENCE_MS,
    });
    const [out, told, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    const exchanges = proxy.exchanges.slice(before);
    if (code !== 0) throw new Error(`codex ended with ${code}: ${out}\n${told}`);
    const items = out.trim().split('\n').map((line) => JSON.parse(line)).filter(({ type }) => type === 'item.completed');
    return { items: items.map(({ item }) => item), exchanges };
  }

  const stop = async () => {
    proxy.stop();
    await etna.stop();
    rmSync(folder, { recursive: true });
  };
  return { exec, work, stop };
}
