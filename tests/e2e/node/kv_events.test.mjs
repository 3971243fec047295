// The events of the prompt cache, with ZeroMQ and MessagePack from npm: they predict the cached tokens of each request.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Index, readBatch, replay, subscribe } from './support/kv_events.mjs';
import { eventually, startServer } from './support/server.mjs';

const WORDS = ['tea', 'rain', 'seven', 'river', 'what', 'is', 'the', 'sum', 'of', 'a', 'blue', 'door', 'and', 'why'];

/** Numbers that look random and are the same in each run. */
function drawer(seed) {
  let state = seed;
  return (count) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}

async function post(address, path, body) {
  const response = await fetch(`${address}${path}`, { method: 'POST', body: JSON.stringify(body) });
  const answer = await response.json();
  assert.equal(response.status, 200, JSON.stringify(answer));
  return answer;
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

for (const [format, requests] of [['arrays', 60], ['maps', 24]]) {
  describe(`the events of the cache as ${format}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'etna-kv-'));
    const endpoint = `ipc://${folder}/events`;
    const replayEndpoint = `ipc://${folder}/replay`;
    const draw = drawer(format.length);
    const talks = [];
    let server, subscriber, index;
    let applied = 0;

    before(async () => {
      server = await startServer('--kv-events', endpoint, '--kv-events-replay', replayEndpoint, '--kv-events-format', format,
        '--kv-events-partial', '--kv-events-pod', 'pod', '--parallel', '1', '--ctx-size', '512');
      subscriber = subscribe(endpoint);
      await post(server.address, '/v1/completions', { prompt: 'a', max_tokens: 1 }); // loads the model
      const metrics = await (await fetch(`${server.address}/metrics`)).text();
      index = new Index(Number(/block_size="(\d+)"/.exec(metrics)[1]));
      await settle();
    });
    after(async () => {
      subscriber.close();
      await server.stop();
      rmSync(folder, { recursive: true });
    });

    /** Applies everything that the engine has told. What the subscriber missed before it was connected is replayed. */
    async function settle() {
      const told = await replay(replayEndpoint, applied);
      const end = told.length === 0 ? applied : told.at(-1).number + 1;
      if (subscriber.batches.length === 0) {
        for (const { payload } of told) readBatch(payload).forEach((event) => index.apply(event));
        applied = end;
        return;
      }
      await eventually(() => subscriber.batches.at(-1).number + 1 >= end, `batch ${end - 1}`);
      for (const { number, payload, topic } of subscriber.batches) {
        if (number < applied) continue;
        assert.equal(topic, 'kv@pod@demo');
        assert.equal(number, applied, 'the numbers have no gap');
        readBatch(payload).forEach((event) => index.apply(event));
        applied += 1;
      }
    }

    function nextTalk() {
      const words = () => Array.from({ length: 1 + draw(25) }, () => WORDS[draw(WORDS.length)]).join(' ');
      let talk = [{ role: 'system', content: 'You are a helpful assistant who answers in few words and never sings.' }];
      if (talks.length > 0 && draw(4) > 0) talk = talks[draw(talks.length)].slice();
      if (JSON.stringify(talk).length > 900) talk = talk.slice(0, 3);
      talk.push({ role: 'user', content: words() });
      return talk;
    }

    it(`predict the cached tokens of ${requests} requests`, async () => {
      let hits = 0;
      for (let i = 0; i < requests; ++i) {
        const messages = nextTalk();
        const { tokens } = await post(server.address, '/tokenize', { messages });
        const predicted = index.cachedTokens(tokens);
        const salted = draw(6) === 0 ? { cache_salt: 'somebody else' } : {};
        const answer = await post(server.address, '/v1/chat/completions', { messages, max_tokens: 1 + draw(12), temperature: 1, seed: i, ...salted });
        const { prompt_tokens: prompt, prompt_tokens_details: details } = answer.usage;
        assert.equal(prompt, tokens.length);
        if (!salted.cache_salt) {
          assert.equal(details.cached_tokens, predicted, `request ${i} of ${prompt} tokens`);
          hits += predicted > 0;
          talks.push([...messages, { role: 'assistant', content: answer.choices[0].message.content ?? '' }]);
        }
        await settle();
      }
      assert.ok(hits > requests / 2, `${hits} hits`);
      assert.ok(index.counts.BlockRemoved > 10, 'pages were evicted');
      assert.ok(index.counts.salted > 0, 'the first blocks of salted requests are marked');
    });

    it('come again from a number on, byte for byte', async () => {
      const first = subscriber.batches.at(-1).number - 20;
      const again = await replay(replayEndpoint, first, 'kv@pod@demo');
      const live = subscriber.batches.filter(({ number }) => number >= first);
      assert.deepEqual(again, live.map(({ number, payload }) => ({ number, payload })));
    });

    it('let a late subscriber catch up', async () => {
      const late = new Index(index.pageTokens);
      for (const { payload } of await replay(replayEndpoint, 0)) readBatch(payload).forEach((event) => late.apply(event));
      assert.deepEqual(late.blocks, index.blocks);
    });

    it('tell that all blocks are gone when the model is unloaded', async () => {
      await post(server.address, '/models/unload', { model: 'demo' });
      await eventually(async () => (await settle(), index.counts.AllBlocksCleared > 0), 'AllBlocksCleared');
      assert.equal(index.blocks.size, 0);
    });
  });
}

describe('a server with the usual options', () => {
  it('publishes full pages alone, by TCP, under the name of its host and port', async () => {
    const [port, replayPort] = [await freePort(), await freePort()];
    const server = await startServer('--kv-events', `tcp://*:${port}`, '--kv-events-replay', `tcp://*:${replayPort}`);
    try {
      await post(server.address, '/v1/completions', { prompt: 'What is 34 + 58? '.repeat(12), max_tokens: 1 });
      const batches = await replay(`tcp://127.0.0.1:${replayPort}`, 0, `kv@${hostname()}:${new URL(server.address).port}@demo`);
      const stored = batches.flatMap(({ payload }) => readBatch(payload));
      assert.ok(stored.length > 0);
      for (const event of stored) assert.equal(Number(event.block_size), 32);
    } finally {
      await server.stop();
    }
  });
});
