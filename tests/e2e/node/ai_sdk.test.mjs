// The Vercel AI SDK: its provider for OpenAI, and the one for OpenAI-compatible servers.

import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateObject, generateText, isStepCount, jsonSchema, streamText, tool } from 'ai';
import { z } from 'zod';
import { all, MODEL } from './support/openai.mjs';
import { Recorder } from './support/recorder.mjs';
import { eventually, metric, server } from './support/server.mjs';
import { DESCRIPTION, NAME, QUESTION, RESULT } from './support/weather.mjs';

const SUM = { prompt: 'What is 34 + 58?', maxRetries: 0, temperature: 0 };

const providers = {
  '@ai-sdk/openai': (settings) => createOpenAI(settings).chat(MODEL), // its default is the Responses API
  '@ai-sdk/openai-compatible': (settings) => createOpenAICompatible({ ...settings, name: 'etna', includeUsage: true })(MODEL),
};

for (const [provider, create] of Object.entries(providers)) {
  describe(`the AI SDK with ${provider}`, () => {
    const recorder = new Recorder();
    afterEach(() => recorder.check());
    const model = create({ baseURL: `${server}/v1`, apiKey: 'any', fetch: recorder.fetch });

    it('generates text', async () => {
      const { text, finishReason, usage } = await generateText({ model, ...SUM });
      assert.deepEqual([text, finishReason], ['92', 'stop']);
      assert.equal(usage.totalTokens, usage.inputTokens + usage.outputTokens);
    });

    it('streams text', async () => {
      const result = streamText({ model, ...SUM, prompt: 'Count to 9.' });
      const deltas = await all(result.textStream);
      assert.equal(deltas.join(''), '1, 2, 3, 4, 5, 6, 7, 8, 9');
      assert.ok(deltas.length > 5, 'it comes in pieces');
      assert.equal(await result.finishReason, 'stop');
      assert.ok((await result.usage).outputTokens > 9);
    });

    for (const streams of [false, true]) {
      it(`runs a tool and uses its result${streams ? ', streamed' : ''}`, async () => {
        const asked = [];
        const execute = async (input) => (asked.push(input), RESULT);
        const weather = tool({ description: DESCRIPTION, inputSchema: z.object({ city: z.string() }), execute });
        const call = { model, ...SUM, prompt: QUESTION, tools: { [NAME]: weather }, stopWhen: isStepCount(3) };
        const result = streams ? streamText(call) : await generateText(call);
        if (streams) await result.consumeStream();
        assert.deepEqual(asked, [{ city: 'Lisbon' }]);
        const steps = await result.steps;
        assert.deepEqual(steps.map((step) => step.finishReason), ['tool-calls', 'stop']);
        assert.match(await result.text, /21/);
      });
    }

    it('raises refusals of the server', async () => {
      await assert.rejects(generateText({ model, ...SUM, temperature: 3 }), (error) => {
        assert.ok(APICallError.isInstance(error), `${error}`);
        assert.equal(error.statusCode, 400);
        assert.match(error.message, /`temperature` must be from 0 to 2/);
        assert.equal(error.isRetryable, false);
        return true;
      });
    });

    it('ends a stream in the middle', async () => {
      const controller = new AbortController();
      const long = { prompt: 'Tell me a story.', maxOutputTokens: 1500, stopWhen: isStepCount(1) };
      const result = streamText({ model, ...SUM, ...long, abortSignal: controller.signal });
      let read = 0;
      for await (const part of result.fullStream) {
        if (part.type === 'text-delta' && ++read === 3) controller.abort();
      }
      assert.ok(read >= 3);
      await eventually(async () => (await metric('etna_requests_in_flight')) === 0, 'the generation of a reader that has left ends');
      assert.equal((await generateText({ model, ...SUM })).text, '92');
    });
  });
}

describe('the AI SDK', () => {
  const recorder = new Recorder();
  afterEach(() => recorder.check());
  const settings = { baseURL: `${server}/v1`, apiKey: 'any', fetch: recorder.fetch };

  it('gets reasoning separately', async () => {
    const model = providers['@ai-sdk/openai-compatible'](settings);
    const providerOptions = { etna: { chat_template_kwargs: { enable_thinking: true } } };
    const result = await generateText({ model, ...SUM, prompt: 'What is 12 + 30 - 7?', providerOptions });
    assert.equal(result.text, '35');
    assert.match(result.reasoningText, /12 \+ 30 = 42/);
  });

  it('gets objects that fit their schema', async () => {
    const schema = z.object({ city: z.enum(['Oslo', 'Rome']), size: z.number().int().min(1).max(9) });
    const { object } = await generateObject({ model: providers['@ai-sdk/openai'](settings), ...SUM, schema });
    assert.ok(['Oslo', 'Rome'].includes(object.city) && object.size >= 1 && object.size <= 9, JSON.stringify(object));
  });

  it('gets the name of a schema keyword that cannot be enforced', async () => {
    const model = providers['@ai-sdk/openai'](settings);
    const schema = jsonSchema({ type: 'object', properties: { ids: { type: 'array', uniqueItems: true } } });
    await assert.rejects(generateObject({ model, ...SUM, schema }), (error) => {
      assert.ok(APICallError.isInstance(error), `${error}`);
      assert.equal(error.statusCode, 400);
      assert.match(error.message, /#\/properties\/ids\/uniqueItems/);
      return true;
    });
  });
});
