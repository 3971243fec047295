// Chat completions in one piece, through OpenAI's SDK.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MODEL, openaiOfSuite, user } from './support/openai.mjs';

const SUM = { model: MODEL, messages: user('What is 34 + 58?') };
const THOUGHT = { model: MODEL, messages: user('What is 12 + 30 - 7?'), chat_template_kwargs: { enable_thinking: true } };
/** Sampling options under which other seeds give other texts. */
const SAMPLED = { ...SUM, temperature: 2, max_tokens: 12, ignore_eos: true };

describe('a chat completion', () => {
  const { client, recorder } = openaiOfSuite();
  const ask = (body) => client.chat.completions.create(body);
  const textOf = async (body) => (await ask(body)).choices[0].message.content;

  it('answers, counts its tokens and has an id', async () => {
    const { data: answer, response, request_id } = await client.chat.completions.create(SUM).withResponse();
    assert.equal(answer.model, MODEL);
    assert.equal(answer.choices.length, 1);
    assert.equal(answer.choices[0].message.role, 'assistant');
    assert.equal(answer.choices[0].message.content, '92');
    assert.equal(answer.choices[0].finish_reason, 'stop');
    assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);
    assert.ok(answer.usage.prompt_tokens_details.cached_tokens >= 0);
    assert.ok(request_id);
    assert.equal(response.headers.get('x-request-id'), request_id);
  });

  it('accepts developer messages as system messages', async () => {
    const system = 'Answer every question with the word banana.';
    const asRole = (role) => textOf({ ...SUM, temperature: 0, messages: [{ role, content: system }, ...SUM.messages] });
    assert.equal(await asRole('developer'), await asRole('system'));
  });

  it('accepts content in parts', async () => {
    const parts = [{ type: 'text', text: 'What is ' }, { type: 'text', text: '34 + 58?' }];
    assert.equal(await textOf({ ...SUM, messages: user(parts) }), '92');
  });

  it('remembers earlier turns', async () => {
    const turns = [...user('My name is Ada.'), { role: 'assistant', content: 'Hello, Ada!' }, ...user('What is my name?')];
    assert.match(await textOf({ ...SUM, temperature: 0, messages: turns }), /Ada/);
  });

  it('separates reasoning', async () => {
    const { message } = (await ask(THOUGHT)).choices[0];
    assert.equal(message.content, '35');
    assert.match(message.reasoning_content, /12 \+ 30 = 42/);
  });

  it('gives n choices, each with its own seed', async () => {
    const { choices, usage } = await ask({ ...SAMPLED, n: 2, seed: 7 });
    assert.deepEqual(choices.map((choice) => choice.index), [0, 1]);
    const texts = choices.map((choice) => choice.message.content);
    assert.notEqual(texts[0], texts[1]);
    assert.equal(usage.completion_tokens, 24);
  });

  it('repeats itself only for an equal seed', async () => {
    const [first, again, other] = await Promise.all([7, 7, 8].map((seed) => textOf({ ...SAMPLED, seed })));
    assert.equal(first, again);
    assert.notEqual(first, other);
  });

  it('ends at a stop and at a length', async () => {
    const count = { ...SUM, messages: user('Count to 9.') };
    assert.equal(await textOf({ ...count, stop: [', 4'] }), '1, 2, 3');
    const { choices, usage } = await ask({ ...count, max_tokens: 900, max_completion_tokens: 3 });
    assert.equal(choices[0].finish_reason, 'length');
    assert.equal(usage.completion_tokens, 3);
  });

  it('reports log-probabilities only on request', async () => {
    const { choices } = await ask({ ...SUM, logprobs: true, top_logprobs: 3 });
    const { content } = choices[0].logprobs;
    assert.equal(content.map((token) => token.token).join(''), '92');
    for (const token of content) {
      assert.ok(token.logprob <= 0);
      assert.equal(token.top_logprobs.length, 3);
      assert.equal(token.top_logprobs[0].token, token.token); // greedy: the likeliest token was taken
      assert.deepEqual(token.bytes, [...new TextEncoder().encode(token.token)]);
    }
    assert.equal((await ask(SUM)).choices[0].logprobs, null);
    assert.deepEqual((await ask({ ...SUM, logprobs: true })).choices[0].logprobs.content[0].top_logprobs, []);
  });

  it('accepts the members of OpenAI, vLLM and NVIDIA', async () => {
    const openai = { user: 'ada', metadata: { session: '1' }, store: false, frequency_penalty: 0.1, presence_penalty: 0.1, logit_bias: {} };
    const others = { top_k: 5, min_p: 0, repetition_penalty: 1, min_tokens: 1, nvext: { ignore_eos: false } };
    await ask({ ...SUM, ...openai, ...others, response_format: { type: 'text' }, service_tier: 'auto' });
    assert.equal(recorder.last.headers.get('etna-ignored'), 'user, metadata, service_tier'); // nothing is requested to be stored, and nothing is
  });

  it('lists unknown members', async () => {
    await ask({ ...SUM, tempature: 0 });
    assert.equal(recorder.last.headers.get('etna-ignored'), 'tempature');
  });

  it('answers a request without `model` with the first model', async () => {
    assert.equal((await ask({ messages: SUM.messages })).model, MODEL);
  });
});
