// Claude Code, unmodified and non-interactive, with a temporary home, and a model whose context takes its prompts.
//
// Usage: tests/e2e/node_test.py ETNA ../claude/claude.test.mjs, after scripts/node-packages tests/e2e/claude.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { longDemo, recordingProxy } from '../node/support/proxy.mjs';
import { startServerOf } from '../node/support/server.mjs';

const PATIENCE_MS = 60_000;
const fileOf = (path) => fileURLToPath(new URL(path, import.meta.url));
const CLAUDE = fileOf('node_modules/.bin/claude');

describe('claude --print', () => {
  let folder;
  let etna;
  let proxy;

  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'etna-claude-')));
    ['home', 'work'].forEach((name) => mkdirSync(join(folder, name)));
    writeFileSync(join(folder, 'generation_config.json'), JSON.stringify({ temperature: 0 }));
    // So small a model does not always name arguments correctly.
    etna = await startServerOf(longDemo(folder), '--chat-template', fileOf('claude.jinja'), '--tools-strict');
    proxy = await recordingProxy(etna.address);
  });
  after(async () => {
    proxy.stop();
    await etna.stop();
    rmSync(folder, { recursive: true });
  });

  /** The result of a prompt, with the requests that were sent. */
  async function ask(...args) {
    const before = proxy.exchanges.length;
    const nowhere = 'http://127.0.0.1:9'; // only this machine is reachable: a test contacts no other server
    const env = {
      PATH: process.env.PATH,
      HOME: join(folder, 'home'),
      ANTHROPIC_BASE_URL: proxy.address,
      ANTHROPIC_AUTH_TOKEN: 'any',
      ANTHROPIC_MODEL: 'demo',
      ANTHROPIC_SMALL_FAST_MODEL: 'demo',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      HTTP_PROXY: nowhere,
      HTTPS_PROXY: nowhere,
      NO_PROXY: '127.0.0.1',
    };
    const child = spawn(CLAUDE, ['--print', '--output-format', 'json', ...args], {
      cwd: join(folder, 'work'),
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: PATIENCE_MS,
    });
    const [out, told, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    if (code !== 0) throw new Error(`claude ended with ${code}: ${out}\n${told}`);
    const exchanges = proxy.exchanges.slice(before).filter(({ path }) => path.startsWith('/v1/messages'));
    return { result: JSON.parse(out), exchanges };
  }

  it('answers, though it sends betas and a header for billing', async () => {
    const { result, exchanges } = await ask('What is 34 + 58? []');
    assert.equal(result.result, '92');
    const [{ body, status, ignored }] = exchanges;
    assert.deepEqual([exchanges.length, status, body.stream, body.max_tokens], [1, 200, true, 32000]);
    assert.ok(body.tools.length >= 10, 'its tools');
    assert.match(body.system[0].text, /^x-anthropic-billing-header:/);
    assert.ok(ignored.includes('system[0].text') && ignored.includes('context_management'), ignored.join());
  });

  it('computes only the new tokens of a second turn', async () => {
    const { result } = await ask('--continue', 'What is 20 + 31? []');
    assert.equal(result.result, '51');
    const { input_tokens: computed, cache_read_input_tokens: cached } = result.usage;
    assert.ok(cached > computed, `${cached} tokens from the cache, ${computed} computed`);
  });

  it('runs a tool that the model calls, and returns its result', async () => {
    const { result, exchanges } = await ask('--tools', 'Read', '--', 'Run the command pwd. [Read]');
    assert.equal(result.num_turns, 2);
    assert.deepEqual(exchanges.map(({ status }) => status), [200, 200]);
    const blocks = exchanges[1].body.messages.flatMap(({ content }) => content);
    const call = blocks.find(({ type }) => type === 'tool_use');
    assert.deepEqual([call.name, typeof call.input.file_path], ['Read', 'string']);
    assert.ok(blocks.some(({ type, tool_use_id: id }) => type === 'tool_result' && id === call.id));
  });
});
