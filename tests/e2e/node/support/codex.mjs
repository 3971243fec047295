// Codex CLI from npm, with a temporary home, and a model whose context is large enough for its prompts.

import { spawn } from 'node:child_process';
import { mkdtempSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { longDemo, recordingProxy } from './proxy.mjs';
import { startServerOf } from './server.mjs';

const PATIENCE_MS = 300_000;
const fileOf = (path) => fileURLToPath(new URL(path, import.meta.url));
const CODEX = fileOf('../../node_modules/.bin/codex');

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
