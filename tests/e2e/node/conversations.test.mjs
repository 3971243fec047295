// Conversations through OpenAI's SDK: creation, retrieval, changes, deletion, and their items.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { all, MODEL, openaiOfSuite } from './support/openai.mjs';

const message = (text) => ({ type: 'message', role: 'user', content: text });
const textsOf = (items) => items.map((item) => item.content[0].text);

describe('a conversation', () => {
  const { client } = openaiOfSuite();
  const made = (items = []) => client.conversations.create({ items, metadata: { about: 'names' } });

  it('is created, retrieved, changed and deleted', async () => {
    const { id, metadata } = await made();
    assert.deepEqual(metadata, { about: 'names' });
    assert.equal((await client.conversations.retrieve(id)).id, id);
    await client.conversations.update(id, { metadata: { about: 'sums' } });
    assert.deepEqual((await client.conversations.retrieve(id)).metadata, { about: 'sums' });
    assert.deepEqual(await client.conversations.delete(id), { id, object: 'conversation.deleted', deleted: true });
    const work = [client.conversations.retrieve(id), client.conversations.items.list(id), client.conversations.delete(id)];
    await Promise.all(work.map((one) => assert.rejects(one, { status: 404 })));
  });

  it('has items that are added, shown and removed', async () => {
    const { id } = await made([message('My name is Ada.')]);
    const added = await client.conversations.items.create(id, { items: [message('one'), message('two')] });
    assert.deepEqual(textsOf(added.data), ['one', 'two']);
    const [one, two] = added.data;
    assert.deepEqual(await client.conversations.items.retrieve(one.id, { conversation_id: id }), one);
    assert.equal((await client.conversations.items.delete(one.id, { conversation_id: id })).id, id);
    await assert.rejects(client.conversations.items.retrieve(one.id, { conversation_id: id }), { status: 404 });
    assert.deepEqual(textsOf(await all(client.conversations.items.list(id, { order: 'asc' }))), ['My name is Ada.', 'two']);
    await assert.rejects(client.conversations.items.create(id, { items: [two] }), { status: 400 });
    await assert.rejects(client.conversations.items.list(id, { after: one.id }), { status: 400, param: 'after' });
  });

  it('is read page by page', async () => {
    const { id } = await made(Array.from({ length: 20 }, (_, i) => message(`${i}`)));
    await client.conversations.items.create(id, { items: [message('20')] });
    const page = await client.conversations.items.list(id, { order: 'asc', limit: 6 });
    assert.deepEqual([page.data.length, page.has_more], [6, true]);
    assert.deepEqual(textsOf(await all(page)), Array.from({ length: 21 }, (_, i) => `${i}`));
    assert.equal(textsOf((await client.conversations.items.list(id, { limit: 1 })).data)[0], '20');
  });

  it('receives items of responses, and the model does not see removed items', async () => {
    const { id } = await made();
    const ask = (input) => client.responses.create({ model: MODEL, input, conversation: id, temperature: 0 });
    await ask('My name is Ada.');
    assert.match((await ask('What is my name?')).output_text, /Ada/);
    for (const item of await all(client.conversations.items.list(id))) await client.conversations.items.delete(item.id, { conversation_id: id });
    assert.doesNotMatch((await ask('What is my name?')).output_text, /Ada/);
  });
});
