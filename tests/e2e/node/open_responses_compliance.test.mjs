// Open Responses' own compliance tests over HTTP, started concurrently as there.
// Also for a client that does not send the header.
// Source: openresponses/openresponses, src/lib/compliance-tests.ts, and the list of what its later versions add.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { MODEL } from './support/openai.mjs';
import { DIALECTS } from './support/responses.mjs';
import { checkStory } from './support/story.mjs';

const message = (role, content, more = {}) => ({ type: 'message', role, content, ...more });
const user = (content) => message('user', content);
const HISTORY = [user('My name is Alice.'), message('assistant', 'Hello Alice! Nice to meet you.'), user('What is my name?')];
const PHASES = [HISTORY[0], ...['commentary', 'final_answer'].map((phase) => ({ ...HISTORY[1], phase })), HISTORY[2]];
const TOOL = {
  type: 'function',
  name: 'get_weather',
  description: 'Get the current weather for a location',
  parameters: { type: 'object', properties: { location: { type: 'string', description: 'The city and state' } }, required: ['location'] },
};
const CALLING = { input: [user("What's the weather like in San Francisco?")], tools: [TOOL] };
const HEART = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==';
const PDF = `data:application/pdf;base64,${Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64')}`;

function completed({ status, body, events }) {
  assert.equal(status, 200, JSON.stringify(body));
  if (events) checkStory(events);
  const response = events ? events.at(-1).response : body;
  assert.equal(response.status, 'completed');
  assert.ok(response.output.length > 0, 'no output');
  return response;
}

function called(answer) {
  const call = completed(answer).output.find((item) => item.type === 'function_call');
  assert.ok(call, 'no call');
  assert.equal(typeof JSON.parse(call.arguments).location, 'string');
  return call;
}

/** Checks that a text-only model refuses a part instead of answering as if it had seen it. */
function refuses(message) {
  return ({ status, body }) => {
    assert.equal(status, 400);
    assert.equal(body.error.message, message);
    assert.match(body.error.param, /^input\[0\]\.content/);
  };
}

/** id → [requests: each a body, or what makes one of the answers before; what the last answer has to be] */
const TESTS = {
  'basic-response': [[{ input: [user('Say hello in exactly 3 words.')] }], completed],
  'assistant-phase': [[{ input: PHASES }], completed],
  'streaming-response': [[{ input: [user('Count from 1 to 5.')], stream: true }], completed],
  'system-prompt': [[{ input: [message('system', 'You are a pirate. Always respond in pirate speak.'), user('Say hello.')] }], completed],
  'tool-calling': [[CALLING], called],
  'tool-calling-streaming': [[{ ...CALLING, stream: true }], (answer) => {
    const call = called(answer);
    const types = answer.events.filter((event) => event.item_id === call.id || event.item?.id === call.id).map((event) => event.type);
    const once = types.filter((type, i) => type !== types[i - 1]);
    const told = ['output_item.added', 'function_call_arguments.delta', 'function_call_arguments.done', 'output_item.done'];
    assert.deepEqual(once, told.map((type) => `response.${type}`));
  }],
  'function-call-roundtrip': [[{ ...CALLING, tool_choice: { type: 'function', name: TOOL.name } }, withResult], completed],
  'image-input': [[{ input: [user([{ type: 'input_text', text: 'What do you see?' }, { type: 'input_image', image_url: HEART }])] }], refuses('image input is not supported by this model')],
  'file-input': [[{ input: [user([{ type: 'input_file', filename: 'empty.pdf', file_data: PDF }])] }], refuses('file input of type application/pdf is not supported by this model; files of text in UTF-8 are')],
  'multi-turn': [[{ input: HISTORY }], completed],
  'previous-response-id': [[{ input: [HISTORY[0]] }, ({ body }) => ({ previous_response_id: body.id, input: [HISTORY[2]] })], completed],
  'compact-response': [[{ path: '/responses/compact', input: HISTORY, prompt_cache_key: 'alice' }], ({ status, body }) => {
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.object, 'response.compaction');
    assert.ok(body.output.some((item) => item.type === 'compaction'));
  }],
  'compact-missing-model': [[{ path: '/responses/compact', model: undefined, input: HISTORY }], ({ status, body }) => {
    assert.ok([400, 422].includes(status), JSON.stringify(body));
    assert.equal(body.error.param, 'model');
  }],
};

function withResult(answer) {
  const { call_id } = called(answer);
  return { input: [...CALLING.input, ...answer.body.output, { type: 'function_call_output', call_id, output: '{"temperature": 18}' }], tools: [TOOL] };
}

for (const [dialect, Client] of Object.entries(DIALECTS)) describe(`at once with all others, in the dialect of ${dialect}, the compliance test`, () => {
  const client = new Client();
  const running = new Map();

  async function run(requests) {
    let answer = null;
    for (const one of requests) {
      const { path = '/responses', ...body } = typeof one === 'function' ? one(answer) : one;
      answer = await client.post(path, { model: MODEL, ...body });
      assert.notEqual(answer.status, 429);
    }
    return answer;
  }

  before(() => {
    for (const [id, [requests]] of Object.entries(TESTS)) {
      const answer = run(requests);
      answer.catch(() => {}); // reported by its own test
      running.set(id, answer);
    }
  });

  for (const [id, [, judge]] of Object.entries(TESTS)) it(id, async () => judge(await running.get(id)));

  after(() => Promise.allSettled(running.values()));
});
