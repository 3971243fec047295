// Refusals, as OpenAI's SDK raises them.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import OpenAI from 'openai';
import { MODEL, openaiOfSuite, user } from './support/openai.mjs';
import { guardedServer, serverKey } from './support/server.mjs';

const SUM = { model: MODEL, messages: user('What is 34 + 58?') };

/** Checks that `asked` is refused with this class of the SDK and these members of OpenAI's error. */
async function refused(asked, type, members) {
  await assert.rejects(asked, (error) => {
    assert.ok(error instanceof type, `${error}`);
    for (const [name, value] of Object.entries(members)) assert.equal(error[name], value, `${name} of ${error}`);
    assert.ok(error.requestID);
    return true;
  });
}

describe('a refusal', () => {
  const { client } = openaiOfSuite();

  const wrong = {
    temperature: { temperature: 3 },
    top_p: { top_p: -0.1 },
    n: { n: 0 },
    seed: { seed: 0.5 },
    max_tokens: { max_tokens: 'many' },
    stop: { stop: Array(33).fill('1') },
    top_logprobs: { top_logprobs: 3 },
    logit_bias: { logit_bias: { word: 1 } },
    frequency_penalty: { frequency_penalty: 2.5 },
    logits_processors: { logits_processors: ['x'] },
    messages: { messages: [] },
    'messages[0].role': { messages: [{ role: '', content: 'Work!' }] },
    'messages[0].content[0]': { messages: user([{ type: 'image_url', image_url: { url: 'data:,' } }]) },
    'stream_options.include_usage': { stream_options: { include_usage: true } },
    'response_format.type': { response_format: { type: 'yaml' } },
    'response_format.json_schema.schema': { response_format: { type: 'json_schema', json_schema: { name: 'n' } } },
    tool_choice: { tool_choice: 'required' },
    'nvext.repetition_penalty': { nvext: { repetition_penalty: 3 } },
  };
  for (const [param, members] of Object.entries(wrong)) {
    it(`of a wrong ${param} names it`, () =>
      refused(client.chat.completions.create({ ...SUM, ...members }), OpenAI.BadRequestError, {
        status: 400, type: 'invalid_request_error', param,
      }));
  }

  it('has a status before a stream starts', () =>
    refused(client.chat.completions.create({ ...SUM, temperature: 3, stream: true }), OpenAI.BadRequestError, { param: 'temperature' }));

  it('of an unknown model is a 404', () =>
    refused(client.chat.completions.create({ ...SUM, model: 'gpt-9' }), OpenAI.NotFoundError, {
      status: 404, code: 'model_not_found', param: 'model', type: 'invalid_request_error',
    }));

  for (const stream of [false, true]) {
    it(`of too long a prompt says both lengths${stream ? ', streamed' : ''}`, async () => {
      const asked = client.chat.completions.create({ ...SUM, stream, messages: user('dog '.repeat(9000)) });
      await refused(asked, OpenAI.BadRequestError, { code: 'context_length_exceeded', param: 'messages' });
      await assert.rejects(asked, (error) => (error.message.match(/\d{4,}/g) ?? []).length >= 2 && /\b2048\b/.test(error.message));
    });
  }

  it('of an unknown path is a 404', () => refused(client.get('/none'), OpenAI.NotFoundError, { status: 404 }));

  it('of a method is a 405', () => refused(client.put('/chat/completions'), OpenAI.APIError, { status: 405 }));
});

describe('a key', () => {
  const { client: stranger } = openaiOfSuite({ baseURL: `${guardedServer}/v1`, apiKey: 'wrong' });
  const { client: friend } = openaiOfSuite({ baseURL: `${guardedServer}/v1`, apiKey: serverKey });

  it('that is wrong is refused', async () => {
    const members = { status: 401, code: 'invalid_api_key', type: 'invalid_request_error' };
    await refused(stranger.models.list(), OpenAI.AuthenticationError, members);
    await refused(stranger.chat.completions.create(SUM), OpenAI.AuthenticationError, members);
    await refused(stranger.chat.completions.create({ ...SUM, stream: true }), OpenAI.AuthenticationError, members);
  });

  it('that is right is accepted', async () => {
    assert.equal((await friend.models.list()).data[0].id, MODEL);
  });
});
