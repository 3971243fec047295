// OpenAI's own SDK, set up as a program that changes its base URL and nothing else.

import { afterEach } from 'node:test';
import OpenAI from 'openai';
import { Recorder } from './recorder.mjs';
import { server } from './server.mjs';

export const MODEL = 'demo';

export function user(content) {
  return [{ role: 'user', content }];
}

/** A request that nothing ends for a while. */
export const ENDLESS = { model: MODEL, messages: user('Tell me a story.'), max_tokens: 1500, ignore_eos: true };

/** {client, recorder}; what the client got is checked against OpenAI's schemas after every test of the suite. */
export function openaiOfSuite(options = {}) {
  const recorder = new Recorder();
  afterEach(() => recorder.check());
  // Without retries: a failure has to show, and not to be slept over.
  const client = new OpenAI({ baseURL: `${server}/v1`, apiKey: 'any', maxRetries: 0, fetch: recorder.fetch, ...options });
  return { client, recorder };
}

export async function all(stream) {
  const items = [];
  for await (const item of stream) items.push(item);
  return items;
}
