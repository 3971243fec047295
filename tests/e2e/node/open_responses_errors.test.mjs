// Refusals and failures in the dialect of Open Responses: the types of "Error Types", and their stream events.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MODEL } from './support/openai.mjs';
import { OpenAIResponses, OpenResponses } from './support/responses.mjs';
import { startServer } from './support/server.mjs';
import { checkStory } from './support/story.mjs';

const SUM = { model: MODEL, input: 'What is 34 + 58?' };
const TOO_LONG = 'dog '.repeat(9000);
const IMAGE = [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }] }];

/** case → [members of the request, status, members of the error] */
const REFUSED = {
  'a wrong number': [{ temperature: 5 }, 400, { param: 'temperature' }],
  'a wrong type': [{ max_output_tokens: 'many' }, 400, { param: 'max_output_tokens' }],
  'no input': [{ input: undefined }, 400, { param: 'input' }],
  'an image': [{ input: IMAGE }, 400, { param: 'input[0].content[0]' }],
  'a tool without a type': [{ tools: [{ name: 'look' }] }, 400, { param: 'tools[0].type' }],
  'a tool that is not there': [{ tool_choice: 'required' }, 400, { param: 'tool_choice' }],
  'too long a prompt': [{ input: TOO_LONG }, 400, { code: 'context_length_exceeded', param: 'input' }],
  'an unknown previous response': [{ previous_response_id: 'resp_none' }, 400, { code: 'previous_response_not_found', param: 'previous_response_id' }],
  'an unknown model': [{ model: 'gpt-9' }, 404, { code: 'model_not_found', param: 'model' }],
  'an unknown item': [{ input: [{ type: 'item_reference', id: 'msg_none' }] }, 404, { code: 'item_not_found', param: 'input' }],
  'an unknown conversation': [{ conversation: 'conv_none' }, 404, { code: 'conversation_not_found', param: 'conversation' }],
};

const NOWHERE = ['/responses/resp_none', '/responses/resp_none?stream=true', '/responses/resp_none/input_items', '/conversations/conv_none', '/none'];

describe('Open Responses has a type for the refusal of', () => {
  const client = new OpenResponses();

  for (const [name, [members, status, error]] of Object.entries(REFUSED)) {
    for (const stream of [false, true]) {
      it(`${name}${stream ? ', streamed' : ''}`, async () => {
        const answer = await client.post('/responses', { ...SUM, ...members, stream });
        assert.equal(answer.status, status, JSON.stringify(answer.body));
        for (const [member, value] of Object.entries(error)) assert.equal(answer.body.error[member], value);
      });
    }
  }

  for (const path of NOWHERE) it(`GET ${path}`, async () => assert.equal((await client.get(path)).status, 404));

  for (const path of ['/responses', '/responses/compact', '/responses/input_tokens']) {
    it(`a body that is not a JSON object, at ${path}`, async () => assert.equal((await client.post(path, [1])).status, 400));
  }

  it('the cancellation of an unknown response', async () => assert.equal((await client.post('/responses/resp_none/cancel')).status, 404));

  it('starting_after that is not a number', async () => {
    const { id } = await client.respond({ input: SUM.input, stream: true });
    assert.equal((await client.get(`/responses/${id}?stream=true&starting_after=x`)).status, 400);
  });
});

describe('a server that is full, and then stopped,', () => {
  const ENDLESS = { model: MODEL, input: 'Tell me a story.', ignore_eos: true, max_output_tokens: 1900, stream: true };

  /** Its refusal, and the events of the truncated stream. */
  async function cutOff(Client) {
    const own = await startServer('--parallel', '1', '--queue', '1', '--drain-timeout', '0');
    const client = new Client(own.address);
    try {
      assert.equal((await client.post('/responses/input_tokens', { input: 'Hello!' })).status, 200); // the model is loaded
      const asked = client.fetch;
      const begun = new Promise((resolve) => {
        client.fetch = async (...request) => {
          const response = await asked(...request);
          if (response.status === 200) resolve();
          return response;
        };
      });
      const answers = [1, 2, 3, 4].map(() => client.post('/responses', ENDLESS));
      const refused = await Promise.race(answers);
      await begun;
      await own.stop();
      const cut = (await Promise.all(answers)).filter((one) => one.events).map((one) => one.events);
      assert.ok(cut.length > 0);
      cut.forEach(checkStory);
      return { refused, cut };
    } catch (error) {
      await own.stop().catch(() => {});
      throw error;
    }
  }

  it('refuses with too_many_requests, and fails in a stream with an error and then the response', async () => {
    const { refused, cut } = await cutOff(OpenResponses);
    assert.equal(refused.status, 429);
    for (const events of cut) {
      const [error, last] = events.slice(-2);
      assert.equal(error.type, 'error');
      assert.equal(error.error.type, 'server_error');
      assert.equal(last.type, 'response.failed');
      assert.deepEqual(last.response.error.message, error.error.message);
    }
  });

  it("sends OpenAI's clients only the failed response, because they stop at an error", async () => {
    const { refused, cut } = await cutOff(OpenAIResponses);
    assert.equal(refused.status, 429);
    for (const events of cut) {
      assert.equal(events.at(-1).type, 'response.failed');
      assert.ok(!events.some((event) => event.type === 'error'));
    }
  });
});
