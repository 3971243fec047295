// Tests that the schema checks of the other tests catch violations.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventsOf } from './support/events.mjs';
import { checkOpen, checkOpenError, checkOpenEvent } from './support/open_schema.mjs';
import { check } from './support/schema.mjs';

const CHUNK = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: {}, finish_reason: null }] };
const TEXT = { id: 'c', object: 'text_completion', created: 1, model: 'm', choices: [{ index: 0, text: 'a', finish_reason: null, logprobs: null }] };

describe("OpenAI's schemas", () => {
  it('read `nullable` as null', () => {
    check('CreateChatCompletionStreamResponse', CHUNK);
    check('CreateChatCompletionStreamResponse', { ...CHUNK, usage: null });
    check('CreateChatCompletionStreamResponse', { ...CHUNK, choices: [{ ...CHUNK.choices[0], logprobs: null }] });
  });

  it('allow etna\'s own members', () => {
    check('CreateChatCompletionStreamResponse', { ...CHUNK, choices: [{ ...CHUNK.choices[0], delta: { reasoning_content: 'so' } }] });
  });

  it('allow an unfinished chunk of a completion, but not an unfinished completion', () => {
    check('CompletionChunk', { ...TEXT, usage: null });
    assert.throws(() => check('CreateCompletionResponse', TEXT), /finish_reason/);
  });

  it('allow the first echoed token without a probability', () => {
    const logprobs = { tokens: ['a', 'b'], token_logprobs: [null, -1], top_logprobs: [null, { b: -1 }], text_offset: [0, 1] };
    const echoed = { ...TEXT, choices: [{ ...TEXT.choices[0], finish_reason: 'stop', logprobs }] };
    check('EchoedCompletion', echoed);
    assert.throws(() => check('CreateCompletionResponse', echoed), /token_logprobs/);
  });

  it('allow any role in the messages of a request, and an empty list without first_id', () => {
    const message = { id: 'c-0', role: 'user', content: 'Hello!', content_parts: null };
    check('ChatCompletionMessageList', { object: 'list', data: [message], first_id: 'c-0', last_id: 'c-0', has_more: false });
    check('ChatCompletionList', { object: 'list', data: [], first_id: null, last_id: null, has_more: false });
    const nobody = { object: 'list', data: [{ ...message, role: 'boss' }], first_id: 'c-0', last_id: 'c-0', has_more: false };
    assert.throws(() => check('ChatCompletionMessageList', nobody), /role/);
    assert.throws(() => check('ConversationItemList', { object: 'list', data: [], has_more: false }), /first_id/);
  });

  it('refuse a missing or wrong member', () => {
    assert.throws(() => check('CreateChatCompletionStreamResponse', { ...CHUNK, choices: [{ index: 0, delta: {} }] }), /finish_reason/);
    assert.throws(() => check('CreateChatCompletionStreamResponse', { ...CHUNK, created: '1' }), /created/);
    assert.throws(() => check('ErrorResponse', { error: { message: 'no', type: 'x' } }), /param/);
    assert.throws(() => check('CreateChatCompletionResponse', { ...CHUNK, object: 'chat.completion' }), /message/);
  });
});

describe('events', () => {
  it('are complete blocks', () => {
    const text = ': waiting\n\nevent: error\n: why\ndata: {"a":\ndata: 1}\n\ndata: [DONE]\n\ndata: cut';
    assert.deepEqual(eventsOf(text), [
      { event: 'message', data: null, comments: ['waiting'] },
      { event: 'error', data: '{"a":\n1}', comments: ['why'] },
      { event: 'message', data: '[DONE]', comments: [] },
    ]);
  });
});

describe('the schemas of Open Responses', () => {
  const item = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}', status: 'completed' };
  const list = (...data) => () => checkOpen('ItemList', { data });
  const event = (members) => () => checkOpenEvent({ sequence_number: 1, ...members });

  it('refuse unknown members', () => {
    list(item)();
    assert.throws(list({ ...item, more: 1 }), /\/data\/0 must NOT have additional properties: more/);
    assert.throws(list({ ...item, status: 'done' }), /\/data\/0\/status/);
    assert.throws(list({ ...item, type: 'custom_tool_call' }), /\/data\/0\/type/);
  });

  it('allow extensions with a vendor prefix', () => {
    list({ type: 'acme:note', id: 'n_1', status: 'completed', more: 1 })();
    event({ type: 'acme:note', more: 1 })();
    assert.throws(event({ type: 'response.note' }), /has no event response.note/);
  });

  it('have few types of errors', () => {
    const error = (type) => ({ error: { type, code: null, message: 'm', param: null } });
    checkOpenError(404, error('not_found'));
    checkOpenError(503, error('server_error'));
    assert.throws(() => checkOpenError(404, error('invalid_request')));
    assert.throws(() => checkOpenError(400, error('invalid_request_error')));
  });
});
