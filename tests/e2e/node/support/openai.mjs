// OpenAI's own SDK, with only the base URL changed.

import { afterEach } from 'node:test';
import OpenAI from 'openai';
import { Recorder } from './recorder.mjs';
import { server } from './server.mjs';

export const MODEL = 'demo';

export function user(content) {
  return [{ role: 'user', content }];
}

/** A request with a long answer. */
export const ENDLESS = { model: MODEL, messages: user('Tell me a story.'), max_tokens: 1500, ignore_eos: true };

/** {client, recorder}; answers are checked against OpenAI's schemas after every test of the suite. */
export function openaiOfSuite(options = {}) {
  const recorder = new Recorder();
  afterEach(() => recorder.check());
  // Without retries, which would hide failures.
  const client = new OpenAI({ baseURL: `${server}/v1`, apiKey: 'any', maxRetries: 0, fetch: recorder.fetch, ...options });
  return { client, recorder };
}

export async function all(stream) {
  const items = [];
  for await (const item of stream) items.push(item);
  return items;
}
