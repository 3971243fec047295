// That the checks of the other tests catch what they are for.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventsOf } from './support/events.mjs';
import { check } from './support/schema.mjs';

const CHUNK = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: {}, finish_reason: null }] };
const TEXT = { id: 'c', object: 'text_completion', created: 1, model: 'm', choices: [{ index: 0, text: 'a', finish_reason: null, logprobs: null }] };

describe("OpenAI's schemas", () => {
  it('read `nullable` as null', () => {
    check('CreateChatCompletionStreamResponse', CHUNK);
    check('CreateChatCompletionStreamResponse', { ...CHUNK, usage: null });
    check('CreateChatCompletionStreamResponse', { ...CHUNK, choices: [{ ...CHUNK.choices[0], logprobs: null }] });
  });

  it('let members of our own pass', () => {
    check('CreateChatCompletionStreamResponse', { ...CHUNK, choices: [{ ...CHUNK.choices[0], delta: { reasoning_content: 'so' } }] });
  });

  it('let the chunk of a completion be unfinished, and not the whole', () => {
    check('CompletionChunk', { ...TEXT, usage: null });
    assert.throws(() => check('CreateCompletionResponse', TEXT), /finish_reason/);
  });

  it('let the first echoed token be without a probability', () => {
    const logprobs = { tokens: ['a', 'b'], token_logprobs: [null, -1], top_logprobs: [null, { b: -1 }], text_offset: [0, 1] };
    const echoed = { ...TEXT, choices: [{ ...TEXT.choices[0], finish_reason: 'stop', logprobs }] };
    check('EchoedCompletion', echoed);
    assert.throws(() => check('CreateCompletionResponse', echoed), /token_logprobs/);
  });

  it('refuse what lacks a member or has a wrong one', () => {
    assert.throws(() => check('CreateChatCompletionStreamResponse', { ...CHUNK, choices: [{ index: 0, delta: {} }] }), /finish_reason/);
    assert.throws(() => check('CreateChatCompletionStreamResponse', { ...CHUNK, created: '1' }), /created/);
    assert.throws(() => check('ErrorResponse', { error: { message: 'no', type: 'x' } }), /param/);
    assert.throws(() => check('CreateChatCompletionResponse', { ...CHUNK, object: 'chat.completion' }), /message/);
  });
});

describe('events', () => {
  it('are whole blocks', () => {
    const text = ': waiting\n\nevent: error\n: why\ndata: {"a":\ndata: 1}\n\ndata: [DONE]\n\ndata: cut';
    assert.deepEqual(eventsOf(text), [
      { event: 'message', data: null, comments: ['waiting'] },
      { event: 'error', data: '{"a":\n1}', comments: ['why'] },
      { event: 'message', data: '[DONE]', comments: [] },
    ]);
  });
});
