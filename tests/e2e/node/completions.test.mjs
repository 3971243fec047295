// POST /v1/completions through OpenAI's SDK.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import OpenAI from 'openai';
import { all, MODEL, openaiOfSuite, user } from './support/openai.mjs';

const PROMPT = 'Once upon a time';
const STORY = { model: MODEL, prompt: PROMPT, max_tokens: 12, temperature: 0, ignore_eos: true };
const SAMPLED = { ...STORY, temperature: 2, seed: 7 };

const textsOf = (answer) => answer.choices.map((choice) => choice.text);

describe('a completion', () => {
  const { client } = openaiOfSuite();
  const complete = (body) => client.completions.create(body);

  /** The prompt as the model's own token ids. */
  async function tokensOf(text) {
    const nvext = { use_raw_prompt: true, annotations: ['token_ids'] };
    return (await client.chat.completions.create({ model: MODEL, messages: user(text), max_tokens: 1, nvext })).nvext.token_ids;
  }

  it('continues a string, without a template', async () => {
    const answer = await complete(STORY);
    assert.equal(answer.object, 'text_completion');
    assert.equal(answer.choices[0].finish_reason, 'length');
    assert.equal(answer.choices[0].logprobs, null);
    assert.ok(answer.choices[0].text.length > 0);
    assert.equal(answer.usage.completion_tokens, 12);
    assert.equal(answer.usage.prompt_tokens, (await tokensOf(PROMPT)).length);
  });

  it('is the same for the tokens of the string', async () => {
    const tokens = await tokensOf(PROMPT);
    const [text] = textsOf(await complete(STORY));
    assert.deepEqual(textsOf(await complete({ ...STORY, prompt: tokens })), [text]);
    assert.deepEqual(textsOf(await complete({ ...STORY, prompt: [tokens, tokens] })), [text, text]);
  });

  it('continues every string of a list', async () => {
    const prompts = [PROMPT, 'It was raining when Ada came'];
    const answer = await complete({ ...STORY, prompt: prompts });
    assert.deepEqual(answer.choices.map((choice) => choice.index), [0, 1]);
    const alone = await Promise.all(prompts.map((prompt) => complete({ ...STORY, prompt })));
    assert.deepEqual(textsOf(answer), alone.flatMap(textsOf));
    assert.equal(answer.usage.prompt_tokens, alone[0].usage.prompt_tokens + alone[1].usage.prompt_tokens);
  });

  it('is 16 tokens long by default', async () => {
    const { max_tokens, ...open } = STORY;
    assert.ok(max_tokens);
    assert.equal((await complete(open)).usage.completion_tokens, 16);
  });

  it('gives n choices of each prompt, in the order of the prompts', async () => {
    const answer = await complete({ ...SAMPLED, prompt: [PROMPT, PROMPT], n: 2 });
    assert.deepEqual(answer.choices.map((choice) => choice.index), [0, 1, 2, 3]);
    const [first, second] = textsOf(answer);
    assert.notEqual(first, second);
    assert.deepEqual(textsOf(await complete({ ...SAMPLED, n: 2 })), [first, second]);
  });

  it('repeats itself for an equal seed', async () => {
    const texts = await Promise.all([7, 7, 8].map(async (seed) => textsOf(await complete({ ...SAMPLED, seed }))[0]));
    assert.equal(texts[0], texts[1]);
    assert.notEqual(texts[0], texts[2]);
  });

  it('ends before a stop', async () => {
    const [text] = textsOf(await complete(STORY));
    const stop = text.slice(4, 8);
    const answer = await complete({ ...STORY, stop });
    assert.equal(answer.choices[0].text, text.slice(0, text.indexOf(stop)));
    assert.equal(answer.choices[0].finish_reason, 'stop');
  });

  it('repeats its prompt on request', async () => {
    const [text] = textsOf(await complete(STORY));
    assert.deepEqual(textsOf(await complete({ ...STORY, echo: true })), [PROMPT + text]);
  });

  it('accepts members of other servers, as their clients send them', async () => {
    assert.deepEqual(textsOf(await complete({ ...SAMPLED, temperature: 1, top_k: 1 })), textsOf(await complete(STORY)));
  });
});

describe('log-probabilities of a completion', () => {
  const { client } = openaiOfSuite();
  const complete = (body) => client.completions.create(body);

  function checkShape({ text, logprobs }, top) {
    const { tokens, token_logprobs, top_logprobs, text_offset } = logprobs;
    assert.equal(tokens.join(''), text);
    // None of its members is required by OpenAI's schema; without alternatives their list may be left out.
    const lists = top > 0 ? [token_logprobs, text_offset, top_logprobs] : [token_logprobs, text_offset];
    for (const list of lists) assert.equal(list.length, tokens.length);
    for (let i = 1; i < tokens.length; ++i) assert.equal(text_offset[i] - text_offset[i - 1], tokens[i - 1].length);
    // The chosen token is included even if it is not one of the likeliest.
    for (const map of (top_logprobs ?? []).filter(Boolean)) assert.ok(Object.keys(map).length <= top + 1);
    assert.ok(token_logprobs.filter((value) => value !== null).every((value) => value <= 0));
  }

  for (const top of [1, 5]) {
    it(`has ${top} alternatives`, async () => {
      const [choice] = (await complete({ ...STORY, logprobs: top })).choices;
      checkShape(choice, top);
      assert.ok(Object.keys(choice.logprobs.top_logprobs[0]).length >= 1);
    });
  }

  it('contain only the chosen tokens for 0', async () => {
    const [choice] = (await complete({ ...STORY, logprobs: 0 })).choices;
    checkShape(choice, 0);
    assert.equal(choice.logprobs.token_logprobs.length, 12);
  });

  it('of an echoed prompt come first, and its first token has none', async () => {
    const [choice] = (await complete({ ...STORY, echo: true, logprobs: 2 })).choices;
    const { tokens, token_logprobs: values, top_logprobs: top, text_offset: offsets } = choice.logprobs;
    assert.equal(tokens.join(''), choice.text);
    assert.deepEqual([values[0], top[0], offsets[0]], [null, null, 0]);
    assert.ok(choice.text.startsWith(STORY.prompt));
    assert.ok(values.slice(1).every((value) => value <= 0));
  });

  it('stream', async () => {
    const asked = { ...STORY, logprobs: 1 };
    const whole = (await complete(asked)).choices[0].logprobs;
    const chunks = await all(await complete({ ...asked, stream: true }));
    const streamed = (member) => chunks.flatMap((chunk) => chunk.choices[0]?.logprobs?.[member] ?? []);
    for (const member of ['tokens', 'token_logprobs', 'text_offset']) assert.deepEqual(streamed(member), whole[member]);
  });
});

describe('a streamed completion', () => {
  const { client, recorder } = openaiOfSuite();
  const chunksOf = async (body) => all(await client.completions.create({ ...body, stream: true }));
  const textOf = (chunks, index) => chunks.flatMap((chunk) => chunk.choices).filter((choice) => choice.index === index)
    .map((choice) => choice.text).join('');

  it('gives the text of the complete one', async () => {
    const body = { ...SAMPLED, prompt: [PROMPT, 'It was raining'], n: 2 };
    const chunks = await chunksOf(body);
    assert.equal(recorder.last.events.at(-1).data, '[DONE]');
    const texts = textsOf(await client.completions.create(body));
    assert.deepEqual([0, 1, 2, 3].map((index) => textOf(chunks, index)), texts);
    const ends = chunks.flatMap((chunk) => chunk.choices).filter((choice) => choice.finish_reason);
    assert.deepEqual(ends.map((choice) => [choice.index, choice.finish_reason]).sort(), [0, 1, 2, 3].map((index) => [index, 'length']));
  });

  it('starts with its prompt on request', async () => {
    const [text] = textsOf(await client.completions.create(STORY));
    assert.equal(textOf(await chunksOf({ ...STORY, echo: true }), 0), PROMPT + text);
  });

  it('counts its tokens in a last chunk on request', async () => {
    const chunks = await chunksOf({ ...STORY, stream_options: { include_usage: true } });
    assert.deepEqual([chunks.at(-1).choices, chunks.at(-1).usage.completion_tokens], [[], 12]);
    assert.ok(chunks.slice(0, -1).every((chunk) => chunk.usage === null));
  });
});

describe('the best of several completions', () => {
  const { client } = openaiOfSuite();
  const ask = (members) => client.completions.create({ ...STORY, ...members });

  it('are the best of the sampled ones', async () => {
    const sampled = await ask({ temperature: 1.5, n: 4, seed: 3 });
    const best = await ask({ temperature: 1.5, n: 1, best_of: 4, seed: 3 });
    assert.equal(best.choices.length, 1);
    assert.ok(sampled.choices.some((choice) => choice.text === best.choices[0].text));
  });

  it('come from a beam search, streamed when they are known', async () => {
    const search = { n: 2, best_of: 3, use_beam_search: true, length_penalty: 0.8 };
    const whole = await ask(search);
    assert.notEqual(whole.choices[0].text, whole.choices[1].text);
    const texts = ['', ''];
    for await (const chunk of await ask({ ...search, stream: true })) {
      for (const choice of chunk.choices) texts[choice.index] += choice.text;
    }
    assert.deepEqual(texts, whole.choices.map((choice) => choice.text));
  });
});

describe('a refusal of a completion', () => {
  const { client } = openaiOfSuite();
  const wrong = {
    logprobs: { logprobs: 21 },
    best_of: { n: 3, best_of: 2 },
    suffix: { suffix: ' The end.' },
    prompt: { prompt: [[1, -1]] },
    max_tokens: { max_tokens: -3 },
    'stream_options.include_usage': { stream_options: { include_usage: true } },
  };
  for (const [param, members] of Object.entries(wrong)) {
    it(`names ${param}`, () =>
      assert.rejects(client.completions.create({ ...STORY, ...members }), (error) => {
        assert.ok(error instanceof OpenAI.BadRequestError, `${error}`);
        assert.ok(error.param?.startsWith(param), `param is ${error.param}`);
        return true;
      }));
  }

  it('of a missing prompt names it', () =>
    assert.rejects(client.completions.create({ model: MODEL }), (error) => error.code === 'missing_required_parameter' && error.param === 'prompt'));

  it('of too long a prompt has the code for it', () =>
    assert.rejects(client.completions.create({ ...STORY, prompt: 'dog '.repeat(9000) }),
      (error) => error.status === 400 && error.code === 'context_length_exceeded' && error.param === 'prompt'));

  it('of an unknown model is a 404', () =>
    assert.rejects(client.completions.create({ ...STORY, model: 'gpt-9' }), (error) => error.code === 'model_not_found'));
});
