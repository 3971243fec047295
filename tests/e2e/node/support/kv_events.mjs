// A subscriber to the events of `etna serve --kv-events`: an index of its prompt cache, built only from events.

import assert from 'node:assert/strict';
import { decode } from '@msgpack/msgpack';
import { Dealer, Subscriber } from 'zeromq';

const END = 0xffff_ffff_ffff_ffffn; // -1

/** The members of an event, in vLLM's order. */
const MEMBERS = {
  BlockStored: ['block_hashes', 'parent_block_hash', 'token_ids', 'block_size', 'lora_id', 'medium', 'lora_name', 'extra_keys', 'group_idx',
    'kv_cache_spec_kind', 'kv_cache_spec_sliding_window'],
  BlockRemoved: ['block_hashes', 'medium', 'group_idx'],
  AllBlocksCleared: [],
};

/** An event in either form as {type, ...members}. */
function readEvent(event) {
  if (!Array.isArray(event)) return event;
  const [type, ...values] = event;
  assert.equal(values.length, MEMBERS[type].length, type);
  return { type, ...Object.fromEntries(MEMBERS[type].map((name, i) => [name, values[i]])) };
}

/** The events of a batch. */
export function readBatch(payload) {
  const [ts, events, rank] = decode(payload, { useBigInt64: true });
  assert.ok(Math.abs(ts - Date.now() / 1000) < 3600, `the time ${ts}`);
  assert.equal(Number(rank), 0);
  return events.map(readEvent);
}

/** What a cache holds. */
export class Index {
  blocks = new Map(); // hash -> {parent, tokens, salt}
  counts = { BlockStored: 0, BlockRemoved: 0, AllBlocksCleared: 0, salted: 0 };

  constructor(pageTokens) {
    this.pageTokens = pageTokens;
  }

  apply(event) {
    this.counts[event.type] += 1;
    if (event.type === 'AllBlocksCleared') return this.blocks.clear();
    if (event.type === 'BlockRemoved') {
      for (const hash of event.block_hashes) assert.ok(this.blocks.delete(hash), 'a block is removed that was not stored');
      return undefined;
    }
    const size = Number(event.block_size);
    this.counts.salted += event.extra_keys.filter((keys) => keys !== null).length;
    assert.equal(event.token_ids.length, size * event.block_hashes.length);
    let parent = event.parent_block_hash;
    if (parent !== null) assert.ok(this.blocks.has(parent), 'the parent of a block is known');
    event.block_hashes.forEach((hash, i) => {
      assert.ok(!this.blocks.has(hash), 'a block is stored twice');
      this.blocks.set(hash, { parent, tokens: event.token_ids.slice(i * size, (i + 1) * size).map(Number), salt: event.extra_keys[i]?.[0] });
      parent = hash;
    });
    return undefined;
  }

  /** The tokens of a prompt that the cache has: whole pages, then the longest beginning of a page. The last is computed anyway. */
  cachedTokens(prompt) {
    const limit = prompt.length - 1;
    let cached = 0;
    let parent = null;
    while (cached < limit) {
      const [hash, agreement] = this.#bestChild(parent, prompt.slice(cached, cached + this.pageTokens));
      if (agreement < this.pageTokens) return Math.min(cached + agreement, limit);
      cached += agreement;
      parent = hash;
    }
    return limit;
  }

  #bestChild(parent, tokens) {
    let best = [null, 0];
    for (const [hash, block] of this.blocks) {
      if (block.parent !== parent || block.salt !== undefined) continue;
      const end = block.tokens.findIndex((token, i) => token !== tokens[i]);
      const agreement = end < 0 ? block.tokens.length : end;
      if (agreement > best[1]) best = [hash, agreement];
    }
    return best;
  }
}

/** Asks for the kept batches from a number on: [{number, payload}]. */
export async function replay(endpoint, first, topic) {
  const peer = new Dealer({ receiveTimeout: 20_000, linger: 0 });
  peer.connect(endpoint);
  const number = Buffer.alloc(8);
  number.writeBigUInt64BE(BigInt(first));
  await peer.send(topic === undefined ? ['', number] : ['', number, topic]);
  const batches = [];
  for (;;) {
    const [empty, numberBytes, payload] = await peer.receive();
    assert.equal(empty.length, 0);
    if (numberBytes.readBigUInt64BE() === END) {
      assert.equal(payload.length, 0);
      peer.close();
      return batches;
    }
    batches.push({ number: Number(numberBytes.readBigUInt64BE()), payload });
  }
}

/** A subscriber that collects what it gets: `batches` of {topic, number, payload}. */
export function subscribe(endpoint) {
  const socket = new Subscriber({ linger: 0 });
  socket.connect(endpoint);
  socket.subscribe('kv@');
  const batches = [];
  (async () => {
    for await (const [topic, number, payload] of socket) {
      batches.push({ topic: String(topic), number: Number(number.readBigUInt64BE()), payload });
    }
  })();
  return { batches, close: () => socket.close() };
}
