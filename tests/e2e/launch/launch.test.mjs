// The programs of `etna launch` that npm has, unmodified and non-interactive, with a temporary home: each is started by it,
// and asks the given model.
//
// Usage: tests/e2e/node_test.py ETNA ../launch/launch.test.mjs, after scripts/node-packages tests/e2e/launch.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { longDemo, recordingProxy } from '../node/support/proxy.mjs';
import { eventually, startServerOf } from '../node/support/server.mjs';

const PATIENCE_MS = 180_000;
const CONTEXT_TOKENS = 32_768;
const PROGRAMS = fileURLToPath(new URL('node_modules/.bin', import.meta.url));

/** The arguments that make each program ask, and the member of its requests that limits the answer, if it sends one. */
const cases = {
  claude: { args: ['--print', 'Hi'], path: '/v1/messages', limit: 'max_tokens' },
  codex: { args: ['exec', '--skip-git-repo-check', 'Hi'], path: '/v1/responses' },
  opencode: { args: ['run', 'Hi'], path: '/v1/chat/completions', limit: 'max_tokens' },
  cline: { args: ['--json', 'Say hi.'], path: '/v1/chat/completions' },
  copilot: { args: ['--allow-all-tools', '-p', 'Hi'], path: '/v1/responses', limit: 'max_output_tokens' },
  pi: { args: ['--offline', '--print', 'Hi'], path: '/v1/chat/completions' },
  qwen: { args: ['Hi'], path: '/v1/chat/completions' },
};

describe('etna launch', () => {
  let folder;
  let etna;

  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'etna-launch-')));
    writeFileSync(join(folder, 'generation_config.json'), JSON.stringify({ temperature: 0 }));
    etna = await startServerOf(longDemo(folder));
  });
  after(async () => {
    await etna.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Starts a program with a home of its own: {output, isRunning, stop}. */
  function launch(name, args, address) {
    const [home, work] = [join(folder, `${name}-home`), join(folder, `${name}-work`)];
    [home, work].forEach((one) => mkdirSync(one));
    const nowhere = 'http://127.0.0.1:9'; // only this machine is reachable: a test contacts no other server
    const env = {
      PATH: PROGRAMS + delimiter + process.env.PATH,
      HOME: home,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      COPILOT_OFFLINE: 'true',
      DISABLE_AUTOUPDATER: '1',
      HTTP_PROXY: nowhere,
      HTTPS_PROXY: nowhere,
      NO_PROXY: '127.0.0.1',
    };
    const child = spawn(process.env.ETNA_TEST_EXECUTABLE, ['launch', name, 'demo', '--url', address, '--', ...args], {
      cwd: work,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true, // a group, which is stopped together
    });
    const ended = once(child, 'exit');
    const program = { output: '', isRunning: true };
    [child.stdout, child.stderr].forEach((stream) => stream.on('data', (data) => (program.output += data)));
    ended.then(() => (program.isRunning = false));
    program.stop = async () => {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // it has ended
      }
      await ended;
    };
    return program;
  }

  for (const [name, { args, path, limit }] of Object.entries(cases)) {
    it(`starts ${name}, which asks the model`, async () => {
      const proxy = await recordingProxy(etna.address); // its own: another program's last request may come late
      const program = launch(name, args, proxy.address);
      const asked = () =>
        proxy.exchanges.some(
          (one) =>
            one.path.startsWith(path) &&
            one.status === 200 &&
            one.body?.model === 'demo' &&
            (!limit || one.body[limit] === CONTEXT_TOKENS / 4),
        );
      try {
        await eventually(() => asked() || !program.isRunning, `a request of ${name}`, PATIENCE_MS);
      } finally {
        await program.stop();
        proxy.stop();
      }
      const seen = proxy.exchanges.map((one) => [one.path, one.status, one.body?.model, one.body?.[limit]]);
      assert.ok(asked(), `${name} sends ${JSON.stringify(seen)} and says: ${program.output.slice(-3000)}`);
    });
  }
});
