// Stored chat completions, through OpenAI's SDK.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import OpenAI from 'openai';
import { all, MODEL, openaiOfSuite, user } from './support/openai.mjs';
import { NAME, QUESTION, WEATHER } from './support/weather.mjs';

const SUM = { model: MODEL, messages: user('What is 34 + 58?'), temperature: 0 };

/** Metadata unique on the server, because other tests run concurrently. */
const mark = () => ({ run: randomUUID() });

const idsOf = (completions) => completions.map((completion) => completion.id);

describe('a stored chat completion', () => {
  const { client, recorder } = openaiOfSuite();
  const chats = client.chat.completions;
  const store = (metadata, body = SUM) => chats.create({ ...body, store: true, metadata });
  const gone = (promise) => assert.rejects(promise, (error) => error instanceof OpenAI.NotFoundError && error.status === 404);

  /** The ids of three stored chats, oldest first. */
  async function storeThree(metadata) {
    const ids = [];
    for (let made = 0; made < 3; ++made) ids.push((await store(metadata)).id);
    return ids;
  }

  it('can be retrieved', async () => {
    const metadata = mark();
    const made = await store(metadata);
    assert.equal(recorder.last.headers.get('etna-ignored'), null, 'what is kept is not ignored');
    const found = await chats.retrieve(made.id);
    for (const member of ['id', 'object', 'created', 'model', 'choices', 'usage']) assert.deepEqual(found[member], made[member]);
    assert.equal(found.choices[0].message.content, '92');
    assert.deepEqual(found.metadata, metadata);
  });

  it('can be retrieved after it was streamed', async () => {
    const metadata = mark();
    const stream = { stream: true, stream_options: { include_usage: true } };
    const chunks = await all(await store(metadata, { ...SUM, ...stream }));
    const found = await chats.retrieve(chunks[0].id);
    assert.equal(found.object, 'chat.completion');
    assert.equal(found.choices[0].message.content, '92');
    assert.equal(found.choices[0].finish_reason, 'stop');
    assert.deepEqual(found.usage, chunks.at(-1).usage);
    assert.deepEqual(idsOf(await all(chats.list({ metadata }))), [found.id]);
  });

  it('contains its choices and tool calls', async () => {
    const called = await store(mark(), { ...SUM, messages: user(QUESTION), tools: [WEATHER], n: 2 });
    const { choices } = await chats.retrieve(called.id);
    assert.deepEqual(choices.map((choice) => choice.index), [0, 1]);
    assert.deepEqual(choices, called.choices);
    assert.equal(choices[0].message.tool_calls[0].function.name, NAME);
  });

  for (const members of [{}, { store: false }, { store: null }, { store: false, stream: true }]) {
    it(`is not stored with ${JSON.stringify(members)}`, async () => {
      const made = await chats.create({ ...SUM, ...members });
      await gone(chats.retrieve(members.stream ? (await all(made))[0].id : made.id));
    });
  }

  it('is listed, oldest first by default', async () => {
    const metadata = mark();
    const ids = await storeThree(metadata);
    const page = await chats.list({ metadata });
    assert.deepEqual(idsOf(page.data), ids);
    assert.equal(page.has_more, false);
    assert.deepEqual(idsOf((await chats.list({ metadata, order: 'asc' })).data), ids);
    assert.deepEqual(idsOf((await chats.list({ metadata, order: 'desc' })).data), ids.toReversed());
    assert.deepEqual(page.data[0].metadata, metadata);
  });

  it('is listed page by page', async () => {
    const metadata = mark();
    const ids = await storeThree(metadata);
    const first = await chats.list({ metadata, limit: 2 });
    assert.deepEqual([idsOf(first.data), first.has_more], [ids.slice(0, 2), true]);
    const second = await chats.list({ metadata, limit: 2, after: ids[1] });
    assert.deepEqual([idsOf(second.data), second.has_more], [ids.slice(2), false]);
    assert.deepEqual(idsOf((await chats.list({ metadata, order: 'desc', after: ids[1] })).data), [ids[0]]);
    assert.deepEqual(idsOf(await all(chats.list({ metadata, limit: 1 }))), ids);
  });

  it('is listed by its model and by all requested metadata', async () => {
    const metadata = { ...mark(), 'a name': 'ä & b = c' };
    const { id } = await store(metadata);
    assert.deepEqual(idsOf((await chats.list({ metadata, model: MODEL })).data), [id]);
    assert.deepEqual(idsOf((await chats.list({ metadata: { run: metadata.run } })).data), [id]);
    assert.deepEqual((await chats.list({ metadata, model: 'gpt-9' })).data, []);
    assert.deepEqual((await chats.list({ metadata: { ...metadata, 'a name': 'b' } })).data, []);
    assert.deepEqual((await chats.list({ metadata: { ...metadata, other: 'c' } })).data, []);
  });

  it('shows the messages that it answered', async () => {
    const parts = [{ type: 'text', text: 'What is ' }, { type: 'text', text: '34 + 58?' }];
    const messages = [{ role: 'system', content: 'Do sums.' }, ...user('Hello!'), { role: 'assistant', content: 'Hello.' }, ...user(parts)];
    const { id } = await store(mark(), { ...SUM, messages });
    const shown = (await chats.messages.list(id)).data;
    assert.deepEqual(shown.map((message) => message.role), ['system', 'user', 'assistant', 'user']);
    assert.deepEqual(shown.slice(0, 3).map((message) => message.content), ['Do sums.', 'Hello!', 'Hello.']);
    assert.equal(shown[0].content_parts ?? null, null);
    assert.deepEqual(shown[3].content_parts, parts);
    assert.equal(new Set(idsOf(shown)).size, 4);
    assert.deepEqual(idsOf(await all(chats.messages.list(id, { limit: 1 }))), idsOf(shown));
    assert.deepEqual(idsOf((await chats.messages.list(id, { order: 'desc' })).data), idsOf(shown).toReversed());
    const after = await chats.messages.list(id, { after: shown[1].id, limit: 1 });
    assert.deepEqual([idsOf(after.data), after.has_more], [[shown[2].id], true]);
  });

  it('gets other metadata', async () => {
    const [old, now] = [mark(), mark()];
    const made = await store({ ...old, kept: 'no' });
    const updated = await chats.update(made.id, { metadata: now });
    assert.deepEqual(updated.metadata, now);
    assert.deepEqual(updated.choices, made.choices);
    assert.deepEqual((await chats.retrieve(made.id)).metadata, now);
    assert.deepEqual((await chats.list({ metadata: old })).data, []);
    assert.deepEqual(idsOf((await chats.list({ metadata: now })).data), [made.id]);
  });

  it('is deleted', async () => {
    const metadata = mark();
    const { id } = await store(metadata);
    assert.deepEqual({ ...(await chats.delete(id)) }, { object: 'chat.completion.deleted', id, deleted: true });
    assert.deepEqual((await chats.list({ metadata })).data, []);
    await gone(chats.retrieve(id));
    await gone(chats.messages.list(id));
    await gone(chats.update(id, { metadata }));
    await gone(chats.delete(id));
  });

  it('is refused with metadata beyond the bounds', async () => {
    const many = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`name ${index}`, 'x']));
    for (const metadata of [many, { name: 1 }, { name: 'x'.repeat(513) }, { ['n'.repeat(65)]: 'x' }]) {
      await assert.rejects(store(metadata), (error) => error.status === 400 && error.param.startsWith('metadata'));
    }
  });

  it('is not listed by an invalid limit or order', async () => {
    await assert.rejects(chats.list({ limit: 0 }), { status: 400, param: 'limit' });
    await assert.rejects(chats.list({ order: 'up' }), { status: 400, param: 'order' });
  });
});
