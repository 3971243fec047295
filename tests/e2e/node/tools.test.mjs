// Tools through OpenAI's SDK.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import OpenAI from 'openai';
import { all, MODEL, openaiOfSuite, user } from './support/openai.mjs';
import { NAME, QUESTION, RESULT, WEATHER } from './support/weather.mjs';

const ASK = { model: MODEL, messages: user(QUESTION), tools: [WEATHER], temperature: 0 };

function assertCallsWeather(call) {
  assert.equal(call.type, 'function');
  assert.equal(call.function.name, NAME);
  assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Lisbon' });
  assert.ok(call.id);
}

describe('tools', () => {
  const { client } = openaiOfSuite();

  it('are called, and their result is used', async () => {
    const [called] = (await client.chat.completions.create(ASK)).choices;
    assert.equal(called.finish_reason, 'tool_calls');
    assert.equal(called.message.content, null);
    const [call] = called.message.tool_calls;
    assertCallsWeather(call);
    const result = { role: 'tool', tool_call_id: call.id, content: JSON.stringify(RESULT) };
    const told = await client.chat.completions.create({ ...ASK, messages: [...ASK.messages, called.message, result] });
    assert.equal(told.choices[0].finish_reason, 'stop');
    assert.match(told.choices[0].message.content, /21/);
  });

  it('stream: the name once, the arguments in pieces', async () => {
    const chunks = await all(await client.chat.completions.create({ ...ASK, stream: true }));
    const pieces = chunks.flatMap((chunk) => chunk.choices[0].delta.tool_calls ?? []);
    assert.ok(pieces.every((piece) => piece.index === 0));
    assert.ok(pieces[0].id && pieces[0].type === 'function' && pieces[0].function.name === NAME);
    assert.ok(pieces.slice(1).every((piece) => !piece.id && !piece.function.name));
    assert.deepEqual(JSON.parse(pieces.map((piece) => piece.function.arguments).join('')), { city: 'Lisbon' });
    assert.equal(chunks.at(-1).choices[0].finish_reason, 'tool_calls');
  });

  it('are assembled by the helper of the SDK', async () => {
    const message = await client.chat.completions.stream(ASK).finalMessage();
    assertCallsWeather(message.tool_calls[0]);
  });

  for (const stream of [false, true]) {
    it(`are run by the helper of the SDK${stream ? ', streamed' : ''}`, async () => {
      const asked = [];
      const run = { ...WEATHER.function, parse: JSON.parse, function: (input) => (asked.push(input), JSON.stringify(RESULT)) };
      const runner = client.chat.completions.runTools({ ...ASK, stream, tools: [{ type: 'function', function: run }] });
      assert.match(await runner.finalContent(), /21/);
      assert.deepEqual(asked, [{ city: 'Lisbon' }]);
    });
  }

  it('can be required, named or forbidden', async () => {
    const withChoice = async (tool_choice) => (await client.chat.completions.create({ ...ASK, tool_choice })).choices[0].message;
    assertCallsWeather((await withChoice('required')).tool_calls[0]);
    assertCallsWeather((await withChoice({ type: 'function', function: { name: NAME } })).tool_calls[0]);
    assert.equal((await withChoice('none')).tool_calls, undefined);
  });

  it('are called when required, whatever the question', async () => {
    // Whatever city the model extracts: the call is complete, and its arguments match.
    const required = { messages: user('What is 34 + 58?'), tool_choice: 'required', max_tokens: 120 };
    const { choices } = await client.chat.completions.create({ ...ASK, ...required });
    assert.equal(choices[0].message.tool_calls[0].function.name, NAME);
    assert.equal(typeof JSON.parse(choices[0].message.tool_calls[0].function.arguments).city, 'string');
  });

  it('must be those of the choice', async () => {
    const tool_choice = { type: 'function', function: { name: 'get_wether' } };
    await assert.rejects(client.chat.completions.create({ ...ASK, tool_choice }), (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError);
      assert.equal(error.param, 'tool_choice');
      return true;
    });
  });
});
