// Requests for responses with their expected results, in both dialects, streamed or not.

import assert from 'node:assert/strict';
import { NAME, QUESTION, WEATHER } from './weather.mjs';

/** The tool in the format of the Responses API. */
export const TOOL = { type: 'function', ...WEATHER.function };
const CLOCK = { type: 'function', name: 'get_time', parameters: { type: 'object', properties: {} } };
const THINKS = { input: 'What is 12 + 30 - 7?', chat_template_kwargs: { enable_thinking: true } };
const SUM = { input: 'What is 34 + 58?' };
const COUNT = { input: 'Count to 9.' };

const typesOf = (response) => response.output.map((item) => item.type);
const says = (text) => (response) => {
  assert.deepEqual(typesOf(response), ['message']);
  assert.match(response.output[0].content[0].text, text);
  assert.equal(response.status, 'completed');
};
const calls = (response) => {
  const call = response.output.at(-1);
  assert.equal(call.type, 'function_call');
  assert.equal(call.name, NAME);
  assert.equal(typeof JSON.parse(call.arguments).city, 'string');
  assert.equal(response.status, 'completed');
};
const thinks = (response) => {
  assert.deepEqual(typesOf(response), ['reasoning', 'message']);
  assert.match(response.output[0].content[0].text, /12 \+ 30 = 42/);
};
const isCut = (response) => {
  assert.equal(response.status, 'incomplete');
  assert.deepEqual(response.incomplete_details, { reason: 'max_output_tokens' });
  assert.equal(response.output.at(-1).status, 'incomplete');
};
const echoes = (members) => (response) => {
  for (const [name, value] of Object.entries(members)) assert.deepEqual(response[name], value, name);
};
const fits = (keys) => (response) => {
  assert.equal(response.status, 'completed');
  assert.deepEqual(Object.keys(JSON.parse(response.output[0].content[0].text)), keys);
};

const CITY = { type: 'object', properties: { city: { enum: ['Oslo', 'Rome'] } }, required: ['city'], additionalProperties: false };
const inForm = (format) => ({ input: 'Make JSON.', text: { format } });
const turns = (...texts) => texts.map((content, i) => ({ type: 'message', role: i % 2 === 0 ? 'user' : 'assistant', content }));
const KEPT = { metadata: { about: 'sums' }, safety_identifier: 'somebody', prompt_cache_key: 'sums', truncation: 'auto', store: false };
const SAMPLING = { temperature: 0.5, top_p: 0.9, presence_penalty: 0.1, frequency_penalty: -0.1 };
const NULLABLE = ['instructions', 'tools', 'tool_choice', 'text', 'reasoning', 'metadata', 'max_output_tokens', 'top_p', 'previous_response_id'];
const NULLS = Object.fromEntries(NULLABLE.map((name) => [name, null]));
const ASKED = { input: QUESTION, tools: [TOOL] };

/** name → [request, check of the response, the only dialect that defines it] */
export const CASES = {
  'a text': [SUM, says(/^92$/)],
  'a list of texts': [{ input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: SUM.input }] }] }, says(/^92$/)],
  'instructions': [{ ...SUM, instructions: 'You know numbers.' }, echoes({ instructions: 'You know numbers.', status: 'completed' })],
  'a system prompt': [{ input: [{ type: 'message', role: 'system', content: 'You know numbers.' }, ...turns(SUM.input)] }, says(/./)],
  'a developer message': [{ input: [{ type: 'message', role: 'developer', content: 'You know numbers.' }, ...turns(SUM.input)] }, says(/./)],
  'several turns': [{ input: turns('My name is Ada.', 'Nice to meet you, Ada.', 'What is my name?') }, says(/Ada/)],
  'phases': [{ input: phases() }, says(/Ada/)],
  'reasoning': [THINKS, thinks],
  'reasoning with a summary': [{ ...THINKS, reasoning: { summary: 'auto' } }, (response) => {
    thinks(response);
    assert.equal(response.output[0].summary[0].type, 'summary_text');
    assert.deepEqual(response.reasoning, { effort: null, summary: 'auto' });
  }],
  'reasoning that is sealed': [{ ...THINKS, include: ['reasoning.encrypted_content'] }, (response) => {
    thinks(response);
    assert.equal(typeof response.output[0].encrypted_content, 'string');
  }],
  'reasoning that is cut': [{ ...THINKS, max_output_tokens: 16 }, isCut],
  ...Object.fromEntries(['none', 'low', 'medium', 'high', 'xhigh'].map((effort) => [
    `reasoning of the effort ${effort}`, [{ ...SUM, reasoning: { effort } }, echoes({ reasoning: { effort, summary: null }, status: 'completed' })],
  ])),
  'a tool': [ASKED, calls],
  'a tool that is required': [{ ...ASKED, tool_choice: 'required' }, calls],
  'a tool that is named': [{ ...ASKED, tools: [CLOCK, TOOL], tool_choice: { type: 'function', name: NAME } }, calls],
  'tools that are allowed': [{ ...ASKED, tools: [CLOCK, TOOL], tool_choice: allowed('required') }, calls],
  'tools that are allowed, without a mode': [{ ...ASKED, tools: [CLOCK, TOOL], tool_choice: allowed() }, calls, 'Open Responses'],
  'no tool': [{ ...ASKED, tool_choice: 'none' }, (response) => assert.deepEqual(typesOf(response), ['message'])],
  'one call at a time': [{ ...ASKED, parallel_tool_calls: false, max_tool_calls: 1 }, calls],
  'a call that is cut': [{ ...ASKED, tool_choice: 'required', max_output_tokens: 16 }, () => {}],
  'a schema': [inForm({ type: 'json_schema', name: 'place', schema: CITY, strict: true }), fits(['city'])],
  'a schema with a description': [inForm({ type: 'json_schema', name: 'place', description: 'Where', schema: CITY, strict: false }), fits(['city'])],
  'a schema, strict or not': [inForm({ type: 'json_schema', name: 'place', schema: CITY, strict: null }), fits(['city'])],
  'a JSON object': [{ input: 'Make JSON.', text: { format: { type: 'json_object' }, verbosity: 'low' }, max_output_tokens: 64 }, () => {}],
  'a text that is cut': [{ ...COUNT, max_output_tokens: 16 }, isCut],
  'log-probabilities': [{ ...SUM, include: ['message.output_text.logprobs'], top_logprobs: 2 }, (response) => {
    const { logprobs } = response.output[0].content[0];
    assert.equal(logprobs.map((one) => one.token).join(''), '92');
    assert.ok(logprobs.every((one) => one.top_logprobs.length === 2));
  }],
  'what is kept of it': [{ ...SUM, ...KEPT, service_tier: 'auto' }, echoes(KEPT)],
  'a user of the older name': [{ ...SUM, user: 'somebody' }, echoes({ safety_identifier: 'somebody' })],
  'sampling': [{ ...SUM, ...SAMPLING, seed: 1 }, echoes(SAMPLING)],
  'members that are null': [{ ...SUM, ...NULLS }, says(/^92$/)],
};

function allowed(mode) {
  return { type: 'allowed_tools', mode, tools: [{ type: 'function', name: NAME }] };
}

function phases() {
  const [first, second, third] = turns('My name is Ada.', 'I keep that in mind.', 'Thank you. What is my name?');
  return [first, { ...second, phase: 'commentary' }, { type: 'message', role: 'assistant', content: 'Nice to meet you, Ada.', phase: 'final_answer' }, third];
}
