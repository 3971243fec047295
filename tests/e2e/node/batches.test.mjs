// Files and batches, through OpenAI's SDK.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { MODEL, user } from './support/openai.mjs';
import { eventually, guardedServer, server, serverKey, startServer } from './support/server.mjs';

const clientOf = (address, apiKey = 'any') => new OpenAI({ baseURL: `${address}/v1`, apiKey, maxRetries: 0 });

/** A line of a batch. */
const sum = (number, body = {}) => ({
  custom_id: `sum-${number}`,
  method: 'POST',
  url: '/v1/chat/completions',
  body: { model: MODEL, messages: user(`What is ${number} + 58?`), temperature: 0, ...body },
});

const ENDLESS = { max_tokens: 1500, ignore_eos: true };

async function upload(client, lines, more = {}) {
  const text = lines.map((line) => JSON.stringify(line) + '\n').join('');
  return client.files.create({ file: await toFile(Buffer.from(text), 'lines.jsonl'), purpose: 'batch', ...more });
}

async function createBatch(client, lines, more = {}) {
  const { id } = await upload(client, lines);
  return client.batches.create({ input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h', ...more });
}

/** Polls a batch until it has one of these statuses. */
async function waitFor(client, { id }, ...statuses) {
  let batch;
  await eventually(async () => statuses.includes((batch = await client.batches.retrieve(id)).status), `${statuses}`);
  return batch;
}

/** The records of a file. */
async function recordsOf(client, id) {
  const text = await (await client.files.content(id)).text();
  return text.trim().split('\n').map((line) => JSON.parse(line));
}

describe('a file', () => {
  const client = clientOf(server);

  it('is stored, listed, read and deleted', async () => {
    const file = await upload(client, [sum(1)], { expires_after: { anchor: 'created_at', seconds: 7200 } });
    assert.deepEqual([file.object, file.purpose, file.filename, file.status], ['file', 'batch', 'lines.jsonl', 'processed']);
    assert.equal(file.expires_at - file.created_at, 7200);
    assert.deepEqual(await client.files.retrieve(file.id), file);
    assert.deepEqual(await recordsOf(client, file.id), [sum(1)]);
    const listed = [];
    for await (const one of client.files.list({ purpose: 'batch', limit: 2 })) listed.push(one.id);
    assert.ok(listed.includes(file.id));
    assert.deepEqual({ ...(await client.files.delete(file.id)) }, { id: file.id, object: 'file', deleted: true });
    await assert.rejects(client.files.retrieve(file.id), { status: 404 });
    await assert.rejects(client.files.content(file.id), { status: 404 });
  });

  it('has a name of any characters', async () => {
    const name = 'ä "quoted" name.jsonl';
    const file = await client.files.create({ file: await toFile(Buffer.from('x'), name), purpose: 'batch' });
    assert.ok([name, 'ä %22quoted%22 name.jsonl'].includes(file.filename), file.filename);
  });

  it('is refused with another purpose', async () => {
    await assert.rejects(upload(client, [], { purpose: 'fine-tune' }), { status: 400, param: 'purpose' });
  });
});

describe('a batch', () => {
  const client = clientOf(server);

  it('is answered line by line', async () => {
    const lines = [sum(34), sum(1), { ...sum(2), url: '/v1/completions' }, sum(3, { stream: true }), sum(4, { messages: 'none' }), sum(34)];
    const batch = await createBatch(client, lines, { metadata: { run: 'one' } });
    assert.deepEqual([batch.object, batch.endpoint, batch.completion_window], ['batch', '/v1/chat/completions', '24h']);
    assert.deepEqual([batch.metadata, batch.expires_at - batch.created_at], [{ run: 'one' }, 24 * 3600]);
    const done = await waitFor(client, batch, 'completed');
    assert.deepEqual(done.request_counts, { total: 6, completed: 2, failed: 4 });
    assert.ok(done.created_at <= done.in_progress_at && done.in_progress_at <= done.finalizing_at && done.finalizing_at <= done.completed_at);
    const results = new Map((await recordsOf(client, done.output_file_id)).map((record) => [record.custom_id, record]));
    assert.deepEqual([...results.keys()].sort(), ['sum-1', 'sum-34']);
    const { response, error } = results.get('sum-34');
    assert.deepEqual([response.status_code, response.body.choices[0].message.content, error], [200, '92', null]);
    const errors = await recordsOf(client, done.error_file_id);
    assert.deepEqual(errors.map((record) => [record.error.line, record.error.code]).sort(), [
      [3, 'mismatched_url'],
      [4, 'unsupported_value'],
      [5, 'invalid_type'],
      [6, 'duplicate_custom_id'],
    ]);
    const total = (name) => [...results.values()].reduce((sum, record) => sum + record.response.body.usage[name], 0);
    assert.deepEqual([done.model, done.usage.input_tokens, done.usage.output_tokens], [MODEL, total('prompt_tokens'), total('completion_tokens')]);
    assert.equal(done.usage.total_tokens, total('total_tokens'));
    assert.ok(Number.isInteger(done.usage.input_tokens_details.cached_tokens));
    assert.equal(done.usage.output_tokens_details.reasoning_tokens, 0);
    assert.equal((await client.files.retrieve(done.output_file_id)).purpose, 'batch_output');
    const listed = await client.batches.list({ limit: 100 });
    assert.ok(listed.data.some(({ id }) => id === batch.id));
  });

  it('is cancelled, and its answers stay', async () => {
    const own = await startServer();
    const ours = clientOf(own.address);
    const batch = await createBatch(ours, Array.from({ length: 200 }, (_, number) => sum(number, { ...ENDLESS, max_tokens: 60 })));
    await eventually(async () => (await ours.batches.retrieve(batch.id)).request_counts.completed > 0, 'the first answer');
    const cancelling = await ours.batches.cancel(batch.id);
    assert.ok(['cancelling', 'cancelled'].includes(cancelling.status), cancelling.status);
    const done = await waitFor(ours, batch, 'cancelled');
    assert.ok(done.cancelled_at >= done.cancelling_at);
    const records = await recordsOf(ours, done.output_file_id);
    assert.equal(records.length, done.request_counts.completed);
    assert.ok(records.length < 200);
    await assert.rejects(ours.batches.cancel(batch.id), { status: 409 });
    await own.stop();
  });

  it('gives way to an interactive request of its client', async () => {
    const own = await startServer('--parallel', '2');
    const ours = clientOf(own.address);
    const batch = await createBatch(ours, Array.from({ length: 40 }, (_, number) => sum(number, ENDLESS)));
    await waitFor(ours, batch, 'in_progress');
    const answer = await ours.chat.completions.create({ model: MODEL, messages: user('What is 34 + 58?'), temperature: 0 });
    assert.equal(answer.choices[0].message.content, '92');
    const { request_counts: counts } = await ours.batches.retrieve(batch.id);
    // Two run and two wait: in order of arrival, three would be complete.
    assert.ok(counts.completed < 2, `${counts.completed} lines came first`);
    await ours.batches.cancel(batch.id);
    await own.stop();
  });

  it('needs the key of the server, which its lines use', async () => {
    await assert.rejects(clientOf(guardedServer, 'wrong').batches.list(), { status: 401 });
    const ours = clientOf(guardedServer, serverKey);
    const done = await waitFor(ours, await createBatch(ours, [sum(34)]), 'completed');
    assert.equal((await recordsOf(ours, done.output_file_id))[0].response.body.choices[0].message.content, '92');
  });

  it('is refused without a file, or for another endpoint', async () => {
    const body = { input_file_id: 'file-none', endpoint: '/v1/chat/completions', completion_window: '24h' };
    await assert.rejects(client.batches.create(body), { status: 400, param: 'input_file_id' });
    const { id } = await upload(client, [sum(1)]);
    await assert.rejects(client.batches.create({ ...body, input_file_id: id, endpoint: '/v1/moderations' }), { status: 400, param: 'endpoint' });
    await assert.rejects(client.batches.create({ ...body, input_file_id: id, completion_window: '1h' }), { status: 400, param: 'completion_window' });
    await assert.rejects(client.batches.retrieve('batch_none'), { status: 404 });
  });
});
