// The servers of the tests. node_test.py starts them, because the first request of each takes the longest.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

function given(name) {
  const value = process.env[name];
  if (!value) {
    throw new Error(`${name} is not set; run these tests by tests/e2e/node_test.py ETNA`);
  }
  return value;
}

/** The address of `etna serve demo`: scheme, host and port. */
export const server = given('ETNA_TEST_SERVER');

/** The address of a server that requires `serverKey`. */
export const guardedServer = given('ETNA_TEST_GUARDED_SERVER');
export const serverKey = given('ETNA_TEST_KEY');

/** The sum of the rows of /metrics with this name. */
export async function metric(name) {
  const text = await (await fetch(`${server}/metrics`)).text();
  const rows = text.split('\n').filter((row) => row.startsWith(`${name}{`) || row.startsWith(`${name} `));
  return rows.reduce((sum, row) => sum + Number(row.slice(row.lastIndexOf(' ') + 1)), 0);
}

/** Waits until `isTrue()` holds. */
export async function eventually(isTrue, what, limit_ms = 60_000) {
  const end = Date.now() + limit_ms;
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error(`not within ${limit_ms} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A server for one test: {address, stop}. */
export function startServer(...options) {
  return startServerOf('demo', ...options);
}

/** The same with another model: a name or a file. */
export async function startServerOf(model, ...options) {
  const home = mkdtempSync(join(tmpdir(), 'etna-node-'));
  const env = { PATH: process.env.PATH, HOME: home };
  const child = spawn(given('ETNA_TEST_EXECUTABLE'), ['serve', model, '--port', '0', ...options], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = once(child, 'exit');
  const [line] = await once(child.stdout, 'data');
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    rmSync(home, { recursive: true });
  };
  return { address: String(line).trim(), stop };
}
