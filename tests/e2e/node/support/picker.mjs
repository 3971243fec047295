// A router of the tests: picks for each chat the replica whose prompt cache has most of it, by a page at least, else the one
// with the least load.
// It knows nothing of replicas but their events, their gauges and /tokenize.
//
//     node picker.mjs ADDRESS=EVENTS=REPLAY...     serves at the address that it prints

import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { Index, readBatch, replay, subscribe } from './kv_events.mjs';

const PAGE_TOKENS = 32;

class Replica {
  #applied = 0;
  index = new Index(PAGE_TOKENS);

  constructor(given) {
    const [address, events, replayEndpoint] = given.split('=');
    Object.assign(this, { address, replayEndpoint, subscriber: subscribe(events) });
  }

  /** Applies the batches since the last call; those that were published before the subscription come by replay. */
  async refresh() {
    const { batches } = this.subscriber;
    if (batches.length === 0 || batches[0].number > this.#applied) {
      for (const batch of await replay(this.replayEndpoint, this.#applied)) this.#apply(batch);
    }
    for (const batch of batches.splice(0)) this.#apply(batch);
  }

  #apply({ number, payload }) {
    if (number < this.#applied) return;
    this.#applied = number + 1;
    readBatch(payload).forEach((event) => this.index.apply(event));
  }

  async load() {
    const metrics = await (await fetch(`${this.address}/metrics`)).text();
    const gauge = (name) => Number(new RegExp(`^vllm:${name}\\{.*\\} (.*)$`, 'm').exec(metrics)[1]);
    return gauge('num_requests_waiting') + gauge('num_requests_running') + gauge('kv_cache_usage_perc');
  }
}

const replicas = process.argv.slice(2).map((given) => new Replica(given));
const picked = replicas.map(() => 0);

async function pick(body) {
  const { messages } = JSON.parse(body);
  const { tokens } = await (await fetch(`${replicas[0].address}/tokenize`, { method: 'POST', body: JSON.stringify({ messages }) })).json();
  const states = await Promise.all(replicas.map(async (replica, i) => {
    await replica.refresh();
    return { i, cached: replica.index.cachedTokens(tokens), load: await replica.load() };
  }));
  const pages = ({ cached }) => Math.floor(cached / PAGE_TOKENS);
  states.sort((a, b) => pages(b) - pages(a) || a.load - b.load || picked[a.i] - picked[b.i]);
  picked[states[0].i] += 1;
  return replicas[states[0].i];
}

const server = createServer(async (request, response) => {
  const body = await text(request);
  const { address } = await pick(body);
  const answer = await fetch(address + request.url, { method: 'POST', body });
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type'), 'x-replica': address });
  Readable.fromWeb(answer.body).pipe(response);
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
