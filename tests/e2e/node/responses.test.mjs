// The Responses API through OpenAI's SDK.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { all, MODEL, openaiOfSuite } from './support/openai.mjs';

const SUM = { model: MODEL, input: 'What is 34 + 58?', temperature: 0 };
const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: 'Current weather in a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
  strict: true,
};

describe('a response', () => {
  const { client, recorder } = openaiOfSuite();

  it('answers, counts its tokens and can be retrieved', async () => {
    const response = await client.responses.create(SUM);
    assert.equal(response.output_text, '92');
    assert.equal(response.status, 'completed');
    assert.equal(response.usage.total_tokens, response.usage.input_tokens + response.usage.output_tokens);
    const again = await client.responses.retrieve(response.id);
    assert.deepEqual(JSON.parse(JSON.stringify(again)), JSON.parse(JSON.stringify(response)));
    await client.responses.delete(response.id);
    await assert.rejects(client.responses.retrieve(response.id), { status: 404 });
  });

  it('streams the same', async () => {
    const stream = client.responses.stream(SUM);
    const types = [];
    let text = '';
    for await (const event of stream) {
      types.push(event.type);
      if (event.type === 'response.output_text.delta') text += event.delta;
    }
    assert.equal(text, '92');
    assert.equal(types[0], 'response.created');
    assert.equal(types.at(-1), 'response.completed');
    assert.equal((await stream.finalResponse()).output_text, '92');
  });

  it('can be replayed from any event', async () => {
    const events = await all(await client.responses.create({ ...SUM, stream: true }));
    const { id } = events[0].response;
    for (const after of [0, 4, events.length - 2]) {
      const rest = await all(await client.responses.retrieve(id, { stream: true, starting_after: after }));
      assert.deepEqual(rest, events.slice(after + 1));
    }
  });

  it('continues another', async () => {
    const first = await client.responses.create({ model: MODEL, input: 'My name is Ada.', temperature: 0 });
    const second = await client.responses.create({ model: MODEL, input: 'What is my name?', previous_response_id: first.id, temperature: 0 });
    assert.match(second.output_text, /Ada/);
    assert.ok(second.usage.input_tokens_details.cached_tokens > 0, 'the first turn is computed again');
  });

  it('lists its input items', async () => {
    const response = await client.responses.create(SUM);
    const items = await all(client.responses.inputItems.list(response.id));
    assert.equal(items.length, 1);
    assert.equal(items[0].content[0].text, SUM.input);
  });

  it('counts tokens without an answer', async () => {
    const { input_tokens } = await client.responses.inputTokens.count(SUM);
    assert.equal(input_tokens, (await client.responses.create(SUM)).usage.input_tokens);
  });

  it('matches a schema and is parsed', async () => {
    const shape = z.object({ name: z.string(), colour: z.enum(['red', 'green', 'blue']) });
    const response = await client.responses.parse({
      model: MODEL,
      input: 'Make JSON.',
      text: { format: zodTextFormat(shape, 'thing') },
      max_output_tokens: 200,
    });
    if (response.status === 'completed') shape.parse(response.output_parsed);
    else assert.equal(response.incomplete_details.reason, 'max_output_tokens');
  });

  it('starts with the structured output, without reasoning that was not requested', async () => {
    const shape = z.object({ city: z.enum(['Oslo', 'Rome']) });
    const asked = { model: MODEL, input: 'Which city?', temperature: 0, max_output_tokens: 60, text: { format: zodTextFormat(shape, 'city') } };
    const response = await client.responses.parse(asked);
    assert.equal(response.status, 'completed');
    assert.deepEqual(response.output.map((item) => item.type), ['message']);
    shape.parse(response.output_parsed);
  });

  it('reasons if the effort requires it', async () => {
    const asked = { model: MODEL, input: 'What is 12 + 30 - 7?', temperature: 0 };
    for (const [effort, types] of [['none', ['message']], ['low', ['reasoning', 'message']], ['high', ['reasoning', 'message']]]) {
      const response = await client.responses.create({ ...asked, reasoning: { effort } });
      assert.deepEqual(response.output.map((item) => item.type), types, effort);
      assert.equal(response.reasoning.effort, effort);
    }
  });

  it('reasons in a separate item', async () => {
    const response = await client.responses.create({
      model: MODEL,
      input: 'What is 12 + 30 - 7?',
      temperature: 0,
      reasoning: { summary: 'auto' },
      chat_template_kwargs: { enable_thinking: true },
    });
    const [reasoning, message] = response.output;
    assert.equal(reasoning.type, 'reasoning');
    assert.match(reasoning.content[0].text, /12 \+ 30 = 42/);
    assert.ok(reasoning.content[0].text.startsWith(reasoning.summary[0].text));
    assert.equal(message.content[0].text, '35');
    assert.ok(response.usage.output_tokens_details.reasoning_tokens > 0);
  });

  it('calls a tool, and continues with its result', async () => {
    const input = 'What is the weather in Oslo?';
    const called = await client.responses.create({ model: MODEL, input, tools: [WEATHER], tool_choice: 'required', temperature: 0 });
    const call = called.output.find((item) => item.type === 'function_call');
    assert.equal(call.name, 'get_weather');
    assert.equal(typeof JSON.parse(call.arguments).city, 'string');
    const result = { type: 'function_call_output', call_id: call.call_id, output: '{"temperature": 7}' };
    const chained = await client.responses.create({ model: MODEL, previous_response_id: called.id, input: [result], tools: [WEATHER], temperature: 0 });
    assert.equal(chained.status, 'completed');
    const whole = [{ role: 'user', content: input }, ...called.output, result];
    const stateless = await client.responses.create({ model: MODEL, input: whole, tools: [WEATHER], store: false, temperature: 0 });
    assert.equal(stateless.output_text, chained.output_text);
  });

  it('resolves items by the server\'s ids', async () => {
    const named = { model: MODEL, input: 'My name is Ada.', temperature: 0 };
    const question = { role: 'user', content: 'What is my name?' };
    const first = await client.responses.create(named);
    const [told] = await all(client.responses.inputItems.list(first.id));
    const input = [{ type: 'item_reference', id: told.id }, { type: 'item_reference', id: first.output[0].id }, question];
    const second = await client.responses.create({ ...named, input });
    assert.match(second.output_text, /Ada/);
    const whole = await client.responses.create({ ...named, input: [{ role: 'user', content: named.input }, ...first.output, question] });
    assert.equal(second.usage.input_tokens, whole.usage.input_tokens);
    const items = await all(client.responses.inputItems.list(second.id, { order: 'asc' }));
    assert.deepEqual(items.map((item) => item.content[0].text), [named.input, first.output_text, question.content]);
  });

  it('resolves tool calls by their ids', async () => {
    const question = { role: 'user', content: 'What is the weather in Oslo?' };
    const asked = { model: MODEL, tools: [WEATHER], temperature: 0 };
    const called = await client.responses.create({ ...asked, input: [question], tool_choice: 'required' });
    const call = called.output.find((item) => item.type === 'function_call');
    const result = { type: 'function_call_output', call_id: call.call_id, output: '{"temperature": 7}' };
    const answer = await client.responses.create({ ...asked, input: [question, call, result] });
    const referring = await client.responses.create({ ...asked, input: [question, { type: 'item_reference', id: call.id }, result] });
    assert.equal(referring.output_text, answer.output_text);
    assert.equal(referring.usage.input_tokens, answer.usage.input_tokens);
  });

  it('does not find items that were not stored', async () => {
    const { output } = await client.responses.create({ ...SUM, store: false });
    for (const id of [output[0].id, 'msg_none']) {
      const input = [{ type: 'item_reference', id }, { role: 'user', content: 'Thanks.' }];
      await assert.rejects(client.responses.create({ model: MODEL, input }), (error) => {
        assert.equal(error.status, 404); // as OpenAI's service answers
        assert.match(error.param, /^input/);
        assert.ok(error.message.includes(id));
        return true;
      });
    }
  });

  for (const source of ['input', 'previous_response_id']) {
    it(`is compacted, from ${source}, and continued`, async () => {
      const named = { model: MODEL, input: 'My name is Ada.', temperature: 0 };
      const first = await client.responses.create(named);
      const input = [{ role: 'user', content: named.input }, ...first.output];
      const compacted = await client.responses.compact({ model: MODEL, ...(source === 'input' ? { input } : { previous_response_id: first.id }) });
      assert.equal(compacted.object, 'response.compaction');
      assert.deepEqual(compacted.output.map((item) => item.type), ['compaction']);
      assert.match(compacted.output[0].id, /^cmp_/);
      const question = { role: 'user', content: 'What is my name?' };
      const second = await client.responses.create({ ...named, input: [...compacted.output, question] });
      assert.match(second.output_text, /Ada/);
    });
  }

  it('runs in the background, and can be cancelled', async () => {
    let response = await client.responses.create({ ...SUM, background: true });
    assert.match(response.status, /queued|in_progress/);
    while (/queued|in_progress/.test(response.status)) response = await client.responses.retrieve(response.id);
    assert.equal(response.output_text, '92');
    const endless = await client.responses.create({ model: MODEL, input: 'Tell me a story.', background: true, max_output_tokens: 1500, ignore_eos: true });
    assert.equal((await client.responses.cancel(endless.id)).status, 'cancelled');
    assert.equal((await client.responses.retrieve(endless.id)).status, 'cancelled');
  });

  it('names the wrong member', async () => {
    await assert.rejects(client.responses.create({ ...SUM, temperature: 5 }), { status: 400, param: 'temperature' });
    await assert.rejects(client.responses.create({ ...SUM, previous_response_id: 'resp_none' }), { code: 'previous_response_not_found' });
    await assert.rejects(client.responses.create({ ...SUM, tools: [{ name: 'look' }] }), { param: 'tools[0].type' });
    assert.ok(recorder.exchanges.length > 0);
  });
});
