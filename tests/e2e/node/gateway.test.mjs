// Portkey's gateway from npm in front of two replicas, as OpenAI's SDK sees it.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import OpenAI from 'openai';
import { MODEL, user } from './support/openai.mjs';
import { eventually, startServer } from './support/server.mjs';

const START = fileURLToPath(new URL('../node_modules/@portkey-ai/gateway/build/start-server.js', import.meta.url));
const SUM = { model: MODEL, messages: user('What is 34 + 58?'), temperature: 0 };

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

describe('behind a gateway, two replicas', () => {
  let replicas, gateway, client;

  before(async () => {
    replicas = await Promise.all([startServer(), startServer()]);
    const port = await freePort();
    gateway = spawn(process.execPath, [START, `--port=${port}`, '--headless'], { stdio: 'ignore' });
    const targets = replicas.map(({ address }) => ({ provider: 'openai', api_key: 'any', custom_host: `${address}/v1`, weight: 1 }));
    client = new OpenAI({
      baseURL: `http://127.0.0.1:${port}/v1`,
      apiKey: 'any',
      defaultHeaders: { 'x-portkey-config': JSON.stringify({ strategy: { mode: 'loadbalance' }, targets }) },
    });
    await eventually(() => fetch(`http://127.0.0.1:${port}/`).then(() => true, () => false), 'the gateway listens');
  });
  after(async () => {
    gateway.kill();
    await once(gateway, 'exit');
    await Promise.all(replicas.map((replica) => replica.stop()));
  });

  async function answered(replica) {
    const text = await (await fetch(`${replica.address}/metrics`)).text();
    return Number(/^vllm:time_to_first_token_seconds_count\{.*\} (\d+)$/m.exec(text)?.[1] ?? 0);
  }

  it('answer whole, in turn', async () => {
    for (let i = 0; i < 16; ++i) {
      const answer = await client.chat.completions.create(SUM);
      assert.equal(answer.choices[0].message.content, '92');
      assert.equal(answer.choices[0].finish_reason, 'stop');
      assert.ok(answer.usage.total_tokens > 0);
    }
    for (const replica of replicas) assert.ok((await answered(replica)) > 0, 'each has requests');
  });

  it('answer as streams', async () => {
    const stream = await client.chat.completions.create({ ...SUM, stream: true, stream_options: { include_usage: true } });
    let text = '';
    let usage;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      usage ??= chunk.usage;
    }
    assert.equal(text, '92');
    assert.ok(usage.completion_tokens > 0);
  });

  it('report errors', async () => {
    const asked = client.chat.completions.create({ ...SUM, model: 'gpt-9' });
    await assert.rejects(asked, (error) => error instanceof OpenAI.NotFoundError && error.code === 'model_not_found');
  });
});
