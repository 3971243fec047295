// The Vercel AI SDK over the Responses API, the default of its provider for OpenAI.

import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { APICallError, generateObject, generateText, isStepCount, Output, streamText, tool } from 'ai';
import { z } from 'zod';
import { all, MODEL, openaiOfSuite } from './support/openai.mjs';
import { Recorder } from './support/recorder.mjs';
import { server } from './support/server.mjs';
import { DESCRIPTION, NAME, QUESTION, RESULT } from './support/weather.mjs';

const SUM = { prompt: 'What is 34 + 58?', maxRetries: 0, temperature: 0 };
const NAMED = { ...SUM, prompt: 'My name is Ada.' };
const ASKED = { role: 'user', content: 'What is my name?' };

/** The types of a request's items, or their roles. */
const kindsOf = (exchange) => exchange.body.input.map((item) => item.type ?? item.role);

describe('the AI SDK over responses', () => {
  const { client } = openaiOfSuite();
  const recorder = new Recorder();
  afterEach(() => recorder.check());
  const openaiWith = (fetch) => createOpenAI({ baseURL: `${server}/v1`, apiKey: 'any', fetch });
  const openai = openaiWith(recorder.fetch);
  const model = openai(MODEL);

  it('generates text', async () => {
    const { text, finishReason, usage, warnings } = await generateText({ model, ...SUM });
    assert.deepEqual([text, finishReason, warnings], ['92', 'stop', []]);
    assert.equal(usage.totalTokens, usage.inputTokens + usage.outputTokens);
    assert.equal(recorder.last.path, '/responses');
    assert.equal(recorder.last.headers.get('etna-ignored'), null);
  });

  it('streams text', async () => {
    const result = streamText({ model, ...SUM, prompt: 'Count to 9.' });
    const deltas = await all(result.textStream);
    assert.equal(deltas.join(''), '1, 2, 3, 4, 5, 6, 7, 8, 9');
    assert.ok(deltas.length > 5, 'it comes in pieces');
    assert.equal(await result.finishReason, 'stop');
    assert.ok((await result.usage).outputTokens > 9);
  });

  it('reports that an answer was cut off', async () => {
    const result = streamText({ model, ...SUM, prompt: 'Tell me a story.', maxOutputTokens: 4 });
    await result.consumeStream();
    assert.equal(await result.finishReason, 'length');
  });

  it('gets log-probabilities', async () => {
    const { providerMetadata } = await generateText({ model, ...SUM, providerOptions: { openai: { logprobs: 3 } } });
    const [[first, second]] = providerMetadata.openai.logprobs;
    assert.equal(first.token + second.token, '92');
    assert.equal(first.top_logprobs.length, 3);
  });

  for (const store of [true, false]) {
    for (const streams of [false, true]) {
      it(`runs a tool and uses its result, ${store ? 'stored' : 'not stored'}${streams ? ', streamed' : ''}`, async () => {
        const asked = [];
        const execute = async (input) => (asked.push(input), RESULT);
        const weather = tool({ description: DESCRIPTION, inputSchema: z.object({ city: z.string() }), execute });
        const providerOptions = { openai: { store } };
        const call = { model, ...SUM, prompt: QUESTION, tools: { [NAME]: weather }, stopWhen: isStepCount(3), providerOptions };
        const result = streams ? streamText(call) : await generateText(call);
        if (streams) await result.consumeStream();
        assert.deepEqual(asked, [{ city: 'Lisbon' }]);
        assert.deepEqual((await result.steps).map((step) => step.finishReason), ['tool-calls', 'stop']);
        assert.match(await result.text, /21/);
        assert.deepEqual(kindsOf(recorder.last), ['user', 'function_call', 'function_call_output']);
      });
    }
  }

  for (const store of [true, false]) {
    it(`runs a tool with text input, and sends its call back ${store ? 'by its id' : 'in full'}`, async () => {
      const asked = [];
      const write = openai.tools.customTool({ name: 'write', description: 'Write a text', execute: async (text) => (asked.push(text), 'done') });
      const required = { tools: { write }, toolChoice: 'required', stopWhen: isStepCount(2), providerOptions: { openai: { store } } };
      const { steps } = await generateText({ model, ...SUM, prompt: 'Write the word cat.', maxOutputTokens: 60, ...required });
      assert.equal(steps.length, 2);
      assert.equal(asked[0], 'cat');
      assert.deepEqual(kindsOf(recorder.last), ['user', store ? 'item_reference' : 'custom_tool_call', 'custom_tool_call_output']);
    });
  }

  it('gets objects that fit their schema', async () => {
    const schema = z.object({ city: z.enum(['Oslo', 'Rome']), size: z.number().int().min(1).max(9) });
    const call = { model, ...SUM, prompt: 'Make JSON.' };
    schema.parse((await generateObject({ ...call, schema })).object);
    schema.parse((await generateText({ ...call, output: Output.object({ schema }) })).output);
  });

  it('continues the previous response', async () => {
    const first = await generateText({ model, ...NAMED });
    const providerOptions = { openai: { previousResponseId: first.finalStep.providerMetadata.openai.responseId } };
    assert.match((await generateText({ model, ...SUM, prompt: ASKED.content, providerOptions })).text, /Ada/);
    assert.deepEqual(kindsOf(recorder.last), ['user']);
  });

  it('continues a conversation', async () => {
    const providerOptions = { openai: { conversation: (await client.conversations.create()).id } };
    await generateText({ model, ...NAMED, providerOptions });
    assert.match((await generateText({ model, ...SUM, prompt: ASKED.content, providerOptions })).text, /Ada/);
    assert.deepEqual(kindsOf(recorder.last), ['user']);
  });

  for (const streams of [false, true]) {
    it(`refers to stored items${streams ? ', streamed' : ''}`, async () => {
      const first = streams ? streamText({ model, ...NAMED }) : await generateText({ model, ...NAMED });
      const { messages } = await first.response;
      const history = [{ role: 'user', content: NAMED.prompt }, ...messages, ASKED];
      const second = await generateText({ model, ...SUM, prompt: history });
      assert.match(second.text, /Ada/);
      assert.deepEqual(kindsOf(recorder.last), ['user', 'item_reference', 'user']);
    });
  }

  it('sends the full history if nothing is stored', async () => {
    const providerOptions = { openai: { store: false } };
    const first = await generateText({ model, ...NAMED, providerOptions });
    const history = [{ role: 'user', content: NAMED.prompt }, ...first.responseMessages, ASKED];
    assert.match((await generateText({ model, ...SUM, prompt: history, providerOptions })).text, /Ada/);
    assert.deepEqual(kindsOf(recorder.last), ['user', 'assistant', 'user']);
  });

  for (const store of [true, false]) {
    it(`sends reasoning back, ${store ? 'by its id' : 'sealed'}`, async () => {
      // The provider sends no members unknown to OpenAI.
      const thinking = { chat_template_kwargs: { enable_thinking: true } };
      const fetch = (url, init) => recorder.fetch(url, { ...init, body: JSON.stringify({ ...JSON.parse(init.body), ...thinking }) });
      const providerOptions = { openai: { forceReasoning: true, reasoningSummary: 'auto', store } };
      const call = { model: openaiWith(fetch)(MODEL), maxRetries: 0, providerOptions };
      const question = { role: 'user', content: 'What is 12 + 30 - 7?' };
      const first = await generateText({ ...call, prompt: [question] });
      assert.equal(first.text, '35');
      assert.match(first.finalStep.reasoningText, /12 \+ 30 = 42/);
      const second = await generateText({ ...call, prompt: [question, ...first.responseMessages, { role: 'user', content: SUM.prompt }] });
      assert.equal(second.text, '92');
      const given = store ? ['item_reference', 'item_reference'] : ['reasoning', 'assistant'];
      assert.deepEqual(kindsOf(recorder.last), ['user', ...given, 'user']);
      if (!store) assert.ok(recorder.last.body.input[1].encrypted_content);
    });
  }

  it('raises refusals of the server', async () => {
    await assert.rejects(generateText({ model, ...SUM, temperature: 3 }), (error) => {
      assert.ok(APICallError.isInstance(error), `${error}`);
      assert.deepEqual([error.statusCode, error.isRetryable], [400, false]);
      assert.match(error.message, /`temperature` must be from 0 to 2/);
      return true;
    });
  });
});
