// Anthropic's own SDK, with only the base URL changed.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import Anthropic, { AuthenticationError, BadRequestError, NotFoundError } from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { z } from 'zod';
import { guardedServer, server, serverKey } from './support/server.mjs';
import { DESCRIPTION, NAME, QUESTION, RESULT } from './support/weather.mjs';

const MODEL = 'demo';
const client = new Anthropic({ baseURL: server, apiKey: 'any', maxRetries: 0 });
const SUM = { model: MODEL, max_tokens: 50, messages: [{ role: 'user', content: 'What is 34 + 58?' }] };
const THOUGHT = {
  model: MODEL,
  max_tokens: 2000,
  thinking: { type: 'adaptive' },
  messages: [{ role: 'user', content: 'What is 12 + 30 - 7?' }],
};
const WEATHER = {
  name: NAME,
  description: DESCRIPTION,
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const ASKED = { model: MODEL, max_tokens: 200, tools: [WEATHER], messages: [{ role: 'user', content: QUESTION }] };

const textOf = ({ content }) => content.filter(({ type }) => type === 'text').map(({ text }) => text).join('');

describe("Anthropic's SDK", () => {
  it('gets a message, with its usage and request id', async () => {
    const { data: message, response } = await client.messages.create(SUM).withResponse();
    assert.equal(textOf(message), '92');
    assert.equal(message.stop_reason, 'end_turn');
    assert.ok(message.usage.input_tokens + message.usage.cache_read_input_tokens > 0);
    assert.ok(message.usage.output_tokens > 0);
    assert.equal(message._request_id, response.headers.get('x-request-id'));
  });

  it('streams a message', async () => {
    const stream = client.messages.stream(SUM);
    let text = '';
    stream.on('text', (delta) => (text += delta));
    const message = await stream.finalMessage();
    assert.equal(text, '92');
    assert.equal(textOf(message), '92');
    assert.equal(message.stop_reason, 'end_turn');
    assert.ok(message.usage.output_tokens > 0);
  });

  it('gets signed thinking, which returns with the next turn', async () => {
    const message = await client.messages.create(THOUGHT);
    const [thinking] = message.content;
    assert.equal(thinking.type, 'thinking');
    assert.ok(thinking.thinking.length > 0 && thinking.signature.length > 0);
    assert.equal(textOf(message), '35');
    const streamed = await client.messages.stream(THOUGHT).finalMessage();
    assert.equal(streamed.content[0].thinking, thinking.thinking);
    const messages = [...THOUGHT.messages, { role: 'assistant', content: message.content }, { role: 'user', content: 'And 1 + 1?' }];
    assert.ok(textOf(await client.messages.create({ ...THOUGHT, messages })).length > 0);
  });

  it('calls a tool, whole and streamed, and answers with its result', async () => {
    const message = await client.messages.create(ASKED);
    assert.equal(message.stop_reason, 'tool_use');
    const call = message.content.find(({ type }) => type === 'tool_use');
    assert.deepEqual([call.name, call.input], [NAME, { city: 'Lisbon' }]);
    const streamed = await client.messages.stream(ASKED).finalMessage();
    assert.deepEqual(streamed.content.find(({ type }) => type === 'tool_use').input, call.input);
    const result = { type: 'tool_result', tool_use_id: call.id, content: [{ type: 'text', text: JSON.stringify(RESULT) }] };
    const messages = [...ASKED.messages, { role: 'assistant', content: message.content }, { role: 'user', content: [result] }];
    assert.match(textOf(await client.messages.create({ ...ASKED, messages })), new RegExp(String(RESULT.temperature)));
  });

  it('runs tools in a loop', async () => {
    const weather = betaZodTool({
      name: NAME,
      description: DESCRIPTION,
      inputSchema: z.object({ city: z.string() }),
      run: () => JSON.stringify(RESULT),
    });
    const last = await client.beta.messages.toolRunner({ ...ASKED, tools: [weather] });
    assert.match(textOf(last), new RegExp(String(RESULT.temperature)));
  });

  it('counts the tokens that a message then has', async () => {
    const { input_tokens: counted } = await client.messages.countTokens({ model: MODEL, messages: SUM.messages });
    const { usage } = await client.messages.create(SUM);
    assert.equal(usage.input_tokens + usage.cache_read_input_tokens, counted);
  });

  it('reads repeated prompts from the cache', async () => {
    const system = `Be helpful. ${'Every word counts. '.repeat(100)}`;
    const request = { ...SUM, max_tokens: 5, system: [{ type: 'text', text: system, cache_control: { type: 'ephemeral' } }] };
    const first = await client.messages.create(request);
    const second = await client.messages.create(request);
    assert.ok(second.usage.cache_read_input_tokens > first.usage.cache_read_input_tokens);
    assert.ok(second.usage.input_tokens < 70, 'all but the last page of the prompt');
  });

  it('lists models', async () => {
    const { data } = await client.models.list();
    assert.ok(data.some(({ id, type }) => id === MODEL && type === 'model'));
    assert.equal((await client.models.retrieve(MODEL)).id, MODEL);
  });

  it('throws the classes of errors that it knows', async () => {
    await assert.rejects(client.messages.create({ ...SUM, temperature: 3 }), BadRequestError);
    await assert.rejects(client.messages.create({ ...SUM, model: 'gone' }), NotFoundError);
    const stranger = new Anthropic({ baseURL: guardedServer, apiKey: 'wrong', maxRetries: 0 });
    await assert.rejects(stranger.messages.create(SUM), AuthenticationError);
    const friend = new Anthropic({ baseURL: guardedServer, apiKey: serverKey, maxRetries: 0 });
    assert.equal(textOf(await friend.messages.create(SUM)), '92');
  });
});
