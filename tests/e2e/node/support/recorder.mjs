// A `fetch` for SDKs that records the traffic and checks it against OpenAI's schemas.

import assert from 'node:assert/strict';
import { eventsOf } from './events.mjs';
import { check, responseEventSchema } from './schema.mjs';

/** Schemas of the answers by path; the first match counts. The API does not define the answer to a response's deletion. */
const ANSWERS = [
  ['GET', /^\/chat\/completions$/, 'ChatCompletionList'],
  ['GET', /^\/chat\/completions\/[^/]+\/messages$/, 'ChatCompletionMessageList'],
  ['DELETE', /^\/chat\/completions\//, 'ChatCompletionDeleted'],
  ['any', /^\/chat\/completions/, 'CreateChatCompletionResponse'],
  ['any', /^\/models$/, 'ListModelsResponse'],
  ['any', /^\/models\//, 'Model'],
  ['any', /^\/responses\/input_tokens$/, 'TokenCountsResource'],
  ['any', /^\/responses\/compact$/, 'CompactResource'],
  ['any', /^\/responses\/[^/]+\/input_items$/, 'ResponseItemList'],
  ['DELETE', /^\/responses\//, null],
  ['any', /^\/responses/, 'Response'],
  ['any', /^\/conversations\/[^/]+\/items$/, 'ConversationItemList'],
  ['GET', /^\/conversations\/[^/]+\/items\//, 'ConversationItem'],
  ['DELETE', /^\/conversations\/[^/]+$/, 'DeletedConversationResource'],
  ['any', /^\/conversations/, 'ConversationResource'],
];

/** One request and its answer so far. */
class Exchange {
  constructor(url, init) {
    this.path = new URL(url).pathname.replace(/^\/v1/, '');
    this.method = init?.method?.toUpperCase() ?? 'GET';
    this.body = typeof init?.body === 'string' ? JSON.parse(init.body) : null;
    this.status = null;
    this.headers = null;
    this.text = '';
  }

  get isStream() {
    return this.headers?.get('content-type')?.startsWith('text/event-stream') ?? false;
  }

  get events() {
    return eventsOf(this.text);
  }

  /** The chunks of a stream: the data of its plain events, without [DONE]. */
  get chunks() {
    const plain = this.events.filter((event) => event.event === 'message' && event.data !== null);
    return plain.map((event) => event.data).filter((data) => data !== '[DONE]').map((data) => JSON.parse(data));
  }

  checkSchema() {
    if (this.status === null) return; // ended before an answer arrived
    if (this.isStream) return this.checkEvents();
    assert.match(this.headers.get('content-type') ?? '', /^application\/json/);
    const schema = this.status < 400 ? this.schemaOfAnswer() : 'ErrorResponse';
    if (schema !== null) check(schema, JSON.parse(this.text));
  }

  checkEvents() {
    for (const { event, data } of this.events) {
      if (data === '[DONE]') continue;
      // Clients ignore a comment alone; an event without data breaks the official Python SDK.
      if (data === null) assert.equal(event, 'message', `the event ${event} has no data`);
      else if (event.startsWith('response.')) check(responseEventSchema(event), JSON.parse(data));
      else if (event === 'error') check('ErrorResponse', JSON.parse(data));
      else if (event === 'message') check(this.schemaOfChunk(), JSON.parse(data));
      else JSON.parse(data); // an annotation, for which OpenAI has no schema
    }
  }

  schemaOfAnswer() {
    if (this.path === '/completions') return this.body.echo ? 'EchoedCompletion' : 'CreateCompletionResponse';
    const answer = ANSWERS.find(([method, path]) => [this.method, 'any'].includes(method) && path.test(this.path));
    if (answer) return answer[2];
    throw new Error(`no schema is known for ${this.path}`);
  }

  schemaOfChunk() {
    if (this.path === '/chat/completions') return 'CreateChatCompletionStreamResponse';
    return this.body.echo ? 'EchoedCompletionChunk' : 'CompletionChunk';
  }
}

export class Recorder {
  exchanges = [];

  /** The replacement of the global `fetch` for an SDK. */
  fetch = async (url, init) => {
    const exchange = new Exchange(url, init);
    this.exchanges.push(exchange);
    const response = await fetch(url, init);
    exchange.status = response.status;
    exchange.headers = response.headers;
    if (!response.body) return response;
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(keeping(exchange)), { status, statusText, headers });
  };

  get last() {
    return this.exchanges.at(-1);
  }

  /** Checks the records since the last call; throws at the first violation of a schema. */
  check() {
    for (const exchange of this.exchanges.splice(0)) exchange.checkSchema();
  }
}

/** Forwards bytes; unlike a tee, it also forwards cancellation, which ends the request. */
function keeping(exchange) {
  const decoder = new TextDecoder();
  return new TransformStream({
    transform(bytes, controller) {
      exchange.text += decoder.decode(bytes, { stream: true });
      controller.enqueue(bytes);
    },
  });
}
