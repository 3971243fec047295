// Ollama's own client, and LangChain's, with only the host changed.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOllama, OllamaEmbeddings } from '@langchain/ollama';
import { Ollama } from 'ollama';
import { z } from 'zod';
import { startHub } from './support/hub.mjs';
import { guardedServer, server, serverKey, startServer } from './support/server.mjs';
import { DESCRIPTION, NAME, QUESTION, RESULT, WEATHER } from './support/weather.mjs';

const MODEL = 'demo';
const STORIES = new URL('../../data/models/stories260K.gguf', import.meta.url);
const client = new Ollama({ host: server });
const user = (content) => ({ role: 'user', content });
const SUM = { model: MODEL, messages: [user('What is 34 + 58?')] };
const THOUGHT = { model: MODEL, think: true, messages: [user('What is 12 + 30 - 7?')] };
const DURATIONS = ['total_duration', 'load_duration', 'prompt_eval_duration', 'eval_duration'];

function checkTimes(answer) {
  for (const name of DURATIONS) assert.ok(Number.isInteger(answer[name]) && answer[name] >= 0, name);
  const parts = answer.load_duration + answer.prompt_eval_duration + answer.eval_duration;
  assert.ok(parts <= answer.total_duration);
  assert.ok(answer.prompt_eval_count > 0 && answer.eval_count > 0);
}

async function collect(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

describe("Ollama's client", () => {
  it('chats, with times and counts', async () => {
    const answer = await client.chat(SUM);
    assert.deepEqual(answer.message, { role: 'assistant', content: '92' });
    assert.deepEqual([answer.model, answer.done, answer.done_reason], [MODEL, true, 'stop']);
    assert.ok(Math.abs(new Date(answer.created_at) - Date.now()) < 60_000);
    checkTimes(answer);
  });

  it('streams a chat', async () => {
    const parts = await collect(await client.chat({ ...SUM, stream: true }));
    assert.equal(parts.map(({ message }) => message.content).join(''), '92');
    assert.deepEqual(parts.map(({ done }) => done).indexOf(true), parts.length - 1);
    checkTimes(parts.at(-1));
  });

  it('shows thinking apart from the answer', async () => {
    const { message } = await client.chat(THOUGHT);
    assert.ok(message.thinking.length > 0);
    assert.equal(message.content, '35');
    const parts = await collect(await client.chat({ ...THOUGHT, stream: true }));
    assert.ok(parts.map((part) => part.message.thinking ?? '').join('').length > 0);
    const { message: quick } = await client.chat({ ...SUM, think: false });
    assert.equal(quick.thinking, undefined);
  });

  it('calls a tool, whole and streamed, and answers with its result', async () => {
    const asked = { model: MODEL, tools: [WEATHER], messages: [user(QUESTION)] };
    const { message } = await client.chat(asked);
    const [{ function: call }] = message.tool_calls;
    assert.deepEqual([call.name, call.arguments], [NAME, { city: 'Lisbon' }]);
    const parts = await collect(await client.chat({ ...asked, stream: true }));
    const calls = parts.flatMap((part) => part.message.tool_calls ?? []);
    assert.deepEqual(calls.map((one) => one.function.arguments), [{ city: 'Lisbon' }]);
    const result = { role: 'tool', tool_name: NAME, content: JSON.stringify(RESULT) };
    const answer = await client.chat({ ...asked, messages: [...asked.messages, message, result] });
    assert.match(answer.message.content, new RegExp(String(RESULT.temperature)));
  });

  it('constrains an answer by a schema', async () => {
    const format = { type: 'object', properties: { sum: { enum: [92] } }, required: ['sum'], additionalProperties: false };
    const { message } = await client.chat({ ...SUM, format });
    assert.deepEqual(JSON.parse(message.content), { sum: 92 });
  });

  it('generates from a prompt, in the template and raw, whole and streamed', async () => {
    const answer = await client.generate({ model: MODEL, prompt: 'What is 34 + 58?' });
    assert.equal(answer.response, '92');
    checkTimes(answer);
    const parts = await collect(await client.generate({ model: MODEL, prompt: 'What is 34 + 58?', stream: true }));
    assert.equal(parts.map(({ response }) => response).join(''), '92');
    const raw = await client.generate({ model: MODEL, prompt: 'What is', raw: true, options: { num_predict: 3 } });
    assert.ok(raw.prompt_eval_count < answer.prompt_eval_count);
    assert.deepEqual([raw.eval_count, raw.done_reason], [3, 'length']);
  });

  it('returns log-probabilities', async () => {
    const { logprobs, eval_count: count } = await client.chat({ ...SUM, logprobs: true, top_logprobs: 2 });
    assert.equal(logprobs.length, count);
    assert.ok(logprobs.every(({ logprob, top_logprobs: top }) => logprob <= 0 && top.length === 2));
  });

  it('embeds texts', async () => {
    const { embeddings, prompt_eval_count: tokens } = await client.embed({ model: MODEL, input: ['a cat', 'a dog'] });
    assert.equal(embeddings.length, 2);
    assert.ok(Math.abs(Math.hypot(...embeddings[0]) - 1) < 1e-3);
    assert.ok(tokens > 2);
    const { embedding } = await client.embeddings({ model: MODEL, prompt: 'a cat' });
    assert.equal(embedding.length, embeddings[0].length);
  });

  it('lists and shows models, and those in memory', async () => {
    const { models } = await client.list();
    const demo = models.find(({ name }) => name === 'demo:latest');
    assert.equal(demo.details.format, 'gguf');
    const shown = await client.show({ model: MODEL });
    assert.deepEqual(shown.capabilities, ['completion', 'tools', 'thinking']);
    const family = shown.model_info['general.architecture'];
    assert.equal(family, demo.details.family);
    assert.ok(shown.model_info[`${family}.context_length`] > 0);
    const running = (await client.ps()).models.find(({ name }) => name === 'demo:latest');
    assert.ok(running.size > 0 && new Date(running.expires_at) > Date.now());
    assert.match((await client.version()).version, /^\d+\.\d+\.\d+/);
  });

  it('is refused with a status and the reason', async () => {
    await assert.rejects(client.chat({ ...SUM, model: 'gone' }), { status_code: 404, message: /^model 'gone' not found/ });
    await assert.rejects(client.chat({ ...SUM, options: { top_p: 2 } }), { status_code: 400, message: /options\.top_p/ });
    await assert.rejects(client.pull({ model: 'hf.co/u/tiny' }), { status_code: 403, message: /--api ollama/ });
    await assert.rejects(client.copy({ source: MODEL, destination: 'mine' }), { status_code: 403 });
    await assert.rejects(client.delete({ model: MODEL }), { status_code: 403 });
    await assert.rejects(client.create({ model: 'mine', from: MODEL }), { status_code: 501, message: /etna create/ });
    await assert.rejects(new Ollama({ host: guardedServer }).chat(SUM), { status_code: 401 });
    const friend = new Ollama({ host: guardedServer, headers: { Authorization: `Bearer ${serverKey}` } });
    assert.equal((await friend.chat(SUM)).message.content, '92');
  });
});

describe('etna serve --api ollama', () => {
  // Port 11434 is separate for every address of 127.0.0.0/8, so that servers of other tests do not interfere.
  const host = `127.${1 + (process.pid % 250)}.${Math.floor(process.pid / 250) % 250}.77`;
  let hub;
  let etna;
  const ollama = new Ollama({ host: `http://${host}:11434` });

  before(async () => {
    hub = await startHub('u/tiny', 'tiny-F16.gguf', readFileSync(STORIES));
    etna = await startServer('--api', 'ollama', '--host', host, '--hub', hub.url);
  });
  after(async () => {
    await etna.stop();
    hub.stop();
  });

  it('listens on the port of Ollama, and on its own', async () => {
    assert.notEqual(new URL(etna.address).port, '11434');
    assert.ok((await new Ollama({ host: etna.address }).list()).models.length > 0);
    assert.ok((await ollama.list()).models.length > 0);
    assert.equal((await fetch(`http://${host}:11434/`, { method: 'HEAD' })).status, 200);
  });

  it('does not start while that port is in use', () => {
    const options = ['serve', MODEL, '--port', '0', '--api', 'ollama', '--host', host];
    const { status, stderr } = spawnSync(process.env.ETNA_TEST_EXECUTABLE, options, { encoding: 'utf8', timeout: 60_000 });
    assert.equal(status, 1);
    assert.match(stderr, /11434/);
    assert.match(stderr, /hint: .*--api ollama/);
  });

  it('pulls, runs, copies and deletes models', async () => {
    const parts = await collect(await ollama.pull({ model: 'hf.co/u/tiny', stream: true }));
    assert.equal(parts[0].status, 'pulling manifest');
    assert.equal(parts.at(-1).status, 'success');
    assert.ok(parts.some(({ digest, total, completed }) => /^sha256:/.test(digest) && completed <= total));
    const name = 'hf.co/u/tiny:F16';
    const names = async () => (await ollama.list()).models.map((model) => model.name);
    assert.ok((await names()).includes(name));
    const story = await ollama.generate({ model: name, prompt: 'Once', raw: true, options: { num_predict: 4 } });
    assert.equal(story.eval_count, 4);
    await ollama.copy({ source: name, destination: 'tiny' });
    assert.ok((await names()).includes('tiny:latest'));
    await ollama.delete({ model: name });
    assert.ok(!(await names()).includes(name));
    assert.ok((await ollama.generate({ model: 'tiny', prompt: 'Once', raw: true, options: { num_predict: 4 } })).done);
    await ollama.delete({ model: 'tiny' });
    assert.deepEqual(await names(), ['demo:latest']);
    await assert.rejects(ollama.delete({ model: 'tiny' }), { status_code: 404 });
    await assert.rejects(collect(await ollama.pull({ model: 'hf.co/u/gone', stream: true })), /gone/);
  });

  it('unloads a model on request', async () => {
    await ollama.generate({ model: MODEL, prompt: '' });
    assert.equal((await ollama.ps()).models.length, 1);
    assert.equal((await ollama.generate({ model: MODEL, prompt: '', keep_alive: 0 })).done_reason, 'unload');
    assert.equal((await ollama.ps()).models.length, 0);
  });
});

describe("LangChain's ChatOllama", () => {
  const model = new ChatOllama({ model: MODEL, baseUrl: server, temperature: 0 });

  it('is invoked and streamed', async () => {
    const answer = await model.invoke([new SystemMessage('Be brief.'), new HumanMessage('What is 34 + 58?')]);
    assert.equal(answer.content, '92');
    assert.ok(answer.usage_metadata.output_tokens > 0);
    const parts = await collect(await model.stream('What is 34 + 58?'));
    assert.equal(parts.map(({ content }) => content).join(''), '92');
  });

  it('returns structured output', async () => {
    const structured = model.withStructuredOutput(z.object({ sum: z.literal(92) }));
    assert.deepEqual(await structured.invoke('What is 34 + 58?'), { sum: 92 });
  });

  it('calls tools, and answers with their results', async () => {
    const weather = tool(async () => JSON.stringify(RESULT), {
      name: NAME,
      description: DESCRIPTION,
      schema: z.object({ city: z.string() }),
    });
    const bound = model.bindTools([weather]);
    const asked = [new HumanMessage(QUESTION)];
    const answer = await bound.invoke(asked);
    const [call] = answer.tool_calls;
    assert.deepEqual([call.name, call.args], [NAME, { city: 'Lisbon' }]);
    const result = new ToolMessage({ content: await weather.invoke(call.args), tool_call_id: call.id, name: NAME });
    const last = await bound.invoke([...asked, answer, result]);
    assert.match(String(last.content), new RegExp(String(RESULT.temperature)));
  });

  it('embeds texts', async () => {
    const embeddings = new OllamaEmbeddings({ model: MODEL, baseUrl: server });
    const [cat, dog] = await embeddings.embedDocuments(['a cat', 'a dog']);
    assert.equal(cat.length, dog.length);
    assert.deepEqual(await embeddings.embedQuery('a cat'), cat);
  });
});
