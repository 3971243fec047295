// Clients of the Responses API in two dialects; answers are checked by the schemas of the dialect.

import assert from 'node:assert/strict';
import { eventsOf } from './events.mjs';
import { checkOpen, checkOpenError, checkOpenEvent } from './open_schema.mjs';
import { MODEL } from './openai.mjs';
import { Recorder } from './recorder.mjs';
import { check } from './schema.mjs';
import { server } from './server.mjs';
import { checkEnd, checkStory } from './story.mjs';

/** Schemas of Open Responses by path. It has no other endpoints; their items use its schemas. */
const ANSWERS = [
  [/^\/responses\/compact$/, 'CompactResource'],
  [/^\/responses\/[^/]+\/input_items$/, 'ItemList'],
  [/^\/conversations\/[^/]+\/items$/, 'ItemList'],
  [/^\/responses\/input_tokens$/, null],
  [/^\/responses/, 'ResponseResource'],
  [/^\/conversations/, null],
];

/**
 * Where the two cannot both be had, so that OpenAI's counts without the header: the `description` that a format was
 * given without is null in the one and absent in the other. Custom tools and their calls are known to OpenAI alone; in
 * Open Responses they are another's, and have to say whose.
 */
export function asBothHaveIt(response) {
  const same = structuredClone(response);
  if (same.text.format.type === 'json_schema') same.text.format.description ??= null;
  for (const one of [...same.tools, ...same.output]) one.type = one.type.replace(/^custom/, 'openai:custom');
  return same;
}

class Client {
  constructor(headers, base, fetched) {
    this.headers = headers;
    this.base = base;
    this.fetch = fetched;
  }

  /** {status, body, events}: `events` is null if the answer is not a stream. */
  async request(method, path, body) {
    const init = { method, headers: { 'content-type': 'application/json', ...this.headers } };
    if (body !== undefined) init.body = JSON.stringify(body);
    const response = await this.fetch(`${this.base}/v1${path}`, init);
    const text = await response.text();
    const isStream = response.headers.get('content-type').startsWith('text/event-stream');
    if (!isStream) assert.match(response.headers.get('content-type'), /^application\/json/);
    return { status: response.status, body: isStream ? null : JSON.parse(text), events: isStream ? dataOf(text) : null };
  }

  async post(path, body) {
    return this.checked(path, await this.request('POST', path, body));
  }

  async get(path) {
    return this.checked(path, await this.request('GET', path));
  }

  /** The final response, streamed or not. */
  async respond(body) {
    const { status, body: whole, events } = await this.post('/responses', { model: MODEL, temperature: 0, ...body });
    assert.equal(status, 200, JSON.stringify(whole));
    if (events) checkStory(events);
    const response = events ? events.at(-1).response : whole;
    checkEnd(response);
    return response;
  }
}

/** The data of the events; [DONE] is the last one and occurs once. */
function dataOf(text) {
  const events = eventsOf(text).filter(({ data }) => data !== null);
  assert.equal(events.pop()?.data, '[DONE]');
  return events.map(({ event, data }) => {
    const body = JSON.parse(data);
    assert.equal(body.type, event, 'the type of an event and its name');
    return body;
  });
}

export class OpenResponses extends Client {
  constructor(base = server) {
    super({ 'etna-dialect': 'open-responses' }, base, fetch);
  }

  checked(path, answer) {
    const schema = ANSWERS.find(([pattern]) => pattern.test(path.split('?')[0]))?.[1];
    if (answer.events) answer.events.forEach(checkOpenEvent);
    else if (answer.status >= 400) checkOpenError(answer.status, answer.body);
    else if (schema) checkOpen(schema, answer.body);
    else if (path === '/responses/input_tokens') check('TokenCountsResource', answer.body);
    return answer;
  }
}

/** OpenAI's dialect; its responses match Open Responses too. */
export class OpenAIResponses extends Client {
  constructor(base = server) {
    const recorder = new Recorder();
    super({}, base, recorder.fetch);
    this.recorder = recorder;
  }

  checked(path, answer) {
    this.recorder.check();
    const objects = answer.events ? answer.events.map((event) => event.response) : [answer.body];
    for (const one of objects) if (one?.object === 'response') checkOpen('ResponseResource', asBothHaveIt(one));
    return answer;
  }
}

export const DIALECTS = { 'Open Responses': OpenResponses, OpenAI: OpenAIResponses };
