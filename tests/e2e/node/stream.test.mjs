// Streamed chat completions through OpenAI's SDK: text, format, and cancellation.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import OpenAI from 'openai';
import { all, ENDLESS, MODEL, openaiOfSuite, user } from './support/openai.mjs';
import { eventually, metric } from './support/server.mjs';

const COUNT = { model: MODEL, messages: user('Count to 9.'), temperature: 0 };
const inFlight = () => metric('etna_requests_in_flight');

function textOf(chunks, index = 0) {
  const choices = chunks.flatMap((chunk) => chunk.choices).filter((choice) => choice.index === index);
  return choices.map((choice) => choice.delta.content ?? '').join('');
}

describe('a stream', () => {
  const { client, recorder } = openaiOfSuite();
  const chunksOf = async (body) => all(await client.chat.completions.create({ ...body, stream: true }));

  it('gives the text of the complete answer', async () => {
    const whole = await client.chat.completions.create(COUNT);
    const chunks = await chunksOf(COUNT);
    assert.equal(textOf(chunks), whole.choices[0].message.content);
    assert.ok(chunks.length > 5, 'it comes in pieces');
  });

  it('has the format that clients rely on', async () => {
    const chunks = await chunksOf(COUNT);
    for (const member of ['id', 'created', 'model', 'object']) {
      assert.equal(new Set(chunks.map((chunk) => chunk[member])).size, 1, member);
    }
    const choices = chunks.map((chunk) => chunk.choices[0]);
    assert.equal(choices[0].delta.role, 'assistant');
    assert.deepEqual(choices.slice(1).filter((choice) => 'role' in choice.delta), []);
    assert.deepEqual(choices.at(-1).delta, {});
    assert.equal(choices.at(-1).finish_reason, 'stop');
    assert.ok(choices.slice(0, -1).every((choice) => choice.finish_reason === null));
    assert.ok(chunks.every((chunk) => !('usage' in chunk)), 'usage comes on request only');
  });

  it('has the headers and the end of server-sent events', async () => {
    await chunksOf(COUNT);
    const { headers, events } = recorder.last;
    assert.match(headers.get('content-type'), /^text\/event-stream/);
    assert.match(headers.get('cache-control'), /no-cache/);
    assert.ok(headers.get('x-request-id'));
    assert.equal(events.at(-1).data, '[DONE]');
  });

  it('counts its tokens in a last chunk on request', async () => {
    const chunks = await chunksOf({ ...COUNT, stream_options: { include_usage: true } });
    const whole = await client.chat.completions.create(COUNT);
    assert.deepEqual(chunks.at(-1).choices, []);
    assert.equal(chunks.at(-1).usage.total_tokens, whole.usage.total_tokens);
    assert.ok(chunks.slice(0, -1).every((chunk) => chunk.usage === null && chunk.choices.length === 1));
  });

  it('reports log-probabilities with their text', async () => {
    const asked = { ...COUNT, logprobs: true, top_logprobs: 2 };
    const chunks = await chunksOf(asked);
    const told = chunks.flatMap((chunk) => chunk.choices[0].logprobs?.content ?? []);
    const whole = await client.chat.completions.create(asked);
    const { content } = whole.choices[0].logprobs;
    assert.deepEqual(told.map((token) => token.token), content.map((token) => token.token));
    assert.equal(told.map((token) => token.token).join(''), textOf(chunks));
    assert.ok(told.every((token) => token.top_logprobs.length === 2));
  });

  it('separates its choices', async () => {
    const sampled = { ...COUNT, n: 2, temperature: 2, seed: 7, max_tokens: 12, ignore_eos: true };
    const chunks = await chunksOf(sampled);
    const { choices } = await client.chat.completions.create(sampled);
    assert.deepEqual([textOf(chunks, 0), textOf(chunks, 1)], choices.map((choice) => choice.message.content));
    const ends = chunks.flatMap((chunk) => chunk.choices).filter((choice) => choice.finish_reason === 'length');
    assert.deepEqual(ends.map((choice) => choice.index).sort(), [0, 1]);
  });

  it('sends reasoning before content', async () => {
    const thinking = { messages: user('What is 12 + 30 - 7?'), chat_template_kwargs: { enable_thinking: true } };
    const deltas = (await chunksOf({ ...COUNT, ...thinking })).map((chunk) => chunk.choices[0].delta);
    assert.match(deltas.map((delta) => delta.reasoning_content ?? '').join(''), /12 \+ 30 = 42/);
    assert.equal(deltas.map((delta) => delta.content ?? '').join(''), '35');
    const lastReasoning = deltas.findLastIndex((delta) => delta.reasoning_content);
    assert.ok(deltas.findIndex((delta) => delta.content) > lastReasoning);
  });

  it('never shows a part of a stop', async () => {
    const chunks = await chunksOf({ ...COUNT, stop: [', 4'] });
    assert.equal(textOf(chunks), '1, 2, 3');
    assert.equal(chunks.at(-1).choices[0].finish_reason, 'stop');
  });

  it('is assembled by the helper of the SDK', async () => {
    const stream = client.chat.completions.stream({ ...COUNT, stream_options: { include_usage: true } });
    const answer = await stream.finalChatCompletion();
    assert.equal(answer.choices[0].message.content, '1, 2, 3, 4, 5, 6, 7, 8, 9');
    assert.ok(answer.usage.completion_tokens > 9);
  });

  it('has annotations only on request, as events that the SDK ignores', async () => {
    await chunksOf({ ...COUNT, nvext: { annotations: ['formatted_prompt', 'token_ids', 'timing'] } });
    const { events } = recorder.last;
    const names = events.map((event) => event.event).filter((name) => name !== 'message');
    assert.deepEqual(names.sort(), ['formatted_prompt', 'timing', 'token_ids']);
    await chunksOf(COUNT);
    assert.ok(recorder.last.events.every((event) => event.event === 'message'));
  });
});

describe('an abandoned stream', () => {
  const { client } = openaiOfSuite();

  /** Reads some chunks of an endless stream, ends it with `leave`, and waits until the server has noticed. */
  async function left(leave) {
    const stream = await client.chat.completions.create({ ...ENDLESS, stream: true });
    let read = 0;
    try {
      for await (const chunk of stream) {
        assert.equal(chunk.object, 'chat.completion.chunk');
        if (++read === 5 && leave(stream)) break;
      }
    } catch (error) {
      assert.ok(error instanceof OpenAI.APIUserAbortError || error.name === 'AbortError', String(error));
    }
    assert.ok(read >= 5 && read < 1000, `${read} chunks`);
    await eventually(async () => (await inFlight()) === 0, 'the generation of a reader that has left ends');
  }

  it('by its controller', () => left((stream) => void stream.controller.abort()));

  it('by a break', () => left(() => true));

  it('before it started, and other requests are answered', async () => {
    const controller = new AbortController();
    const asked = client.chat.completions.create(ENDLESS, { signal: controller.signal });
    await eventually(async () => (await inFlight()) > 0, 'the request is at work');
    controller.abort();
    await assert.rejects(asked, OpenAI.APIUserAbortError);
    await eventually(async () => (await inFlight()) === 0, 'the generation of a reader that has left ends');
    const answer = await client.chat.completions.create({ model: MODEL, messages: user('What is 34 + 58?') });
    assert.equal(answer.choices[0].message.content, '92');
  });
});
