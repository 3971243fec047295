// OpenAI's schemas as checks: `check(name, value)` throws with every path at which a value violates its schema.

import { readFileSync } from 'node:fs';
import Ajv2020 from 'ajv/dist/2020.js';

/** The content of tests/data/openapi/NAME.json. */
export function published(name) {
  const file = new URL(`../../../data/openapi/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).components.schemas;
}

const orNull = (schema) => ({ anyOf: [schema, { type: 'null' }] });

/** Translates OpenAPI 3.0's `nullable`, which these schemas of 3.1 still use, to JSON Schema. */
function readNullable(schema) {
  if (Array.isArray(schema)) return schema.map(readNullable);
  if (schema === null || typeof schema !== 'object') return schema;
  const { nullable, ...rest } = schema;
  const read = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, readNullable(value)]));
  return nullable === true ? orNull(read) : read;
}

/**
 * A chunk of a streamed completion has the schema of a whole one, which knows no null: OpenAI's service sends null for
 * finish_reason until the end, and, with include_usage, for the usage of every chunk but the last.
 */
function completionChunk(whole) {
  const chunk = structuredClone(whole);
  const choice = chunk.properties.choices.items.properties;
  choice.finish_reason = orNull(choice.finish_reason);
  chunk.properties.usage = orNull(chunk.properties.usage);
  return chunk;
}

/** With `echo` the prompt's first token has no predecessor: its log-probability and alternatives are null. */
function echoed(completion) {
  const schema = structuredClone(completion);
  const logprobs = schema.properties.choices.items.properties.logprobs.anyOf[0].properties;
  logprobs.token_logprobs.items = orNull(logprobs.token_logprobs.items);
  logprobs.top_logprobs.items = orNull(logprobs.top_logprobs.items);
  return schema;
}

/** Until a response is complete, its `usage` is null in OpenAI's examples of events, but its schema allows no null. */
function begunResponse(response) {
  const begun = structuredClone(response);
  const own = begun.allOf.find((one) => one.properties?.usage).properties;
  own.usage = orNull(own.usage);
  return begun;
}

/** first_id and last_id of an empty list are null, as in Azure's schemas of the same API. */
function emptiable(list) {
  const { first_id, last_id } = list.properties;
  return { ...list, properties: { ...list.properties, first_id: orNull(first_id), last_id: orNull(last_id) } };
}

/** A list of messages has the schema of answers, which allows only the assistant; messages of a request have any role. */
function messagesOfAnyone(list) {
  const any = structuredClone(list);
  any.properties.data.items.allOf[0] = {
    type: 'object',
    required: ['role', 'content'],
    properties: { role: { enum: ['developer', 'system', 'user', 'assistant', 'tool', 'function'] }, content: { type: ['string', 'null'] } },
  };
  return any;
}

const schemas = readNullable({ ...published('responses'), ...published('chat') });
schemas.Response = begunResponse(schemas.Response);
schemas.CompletionChunk = completionChunk(schemas.CreateCompletionResponse);
schemas.EchoedCompletion = echoed(schemas.CreateCompletionResponse);
schemas.EchoedCompletionChunk = echoed(schemas.CompletionChunk);
schemas.ChatCompletionMessageList = messagesOfAnyone(schemas.ChatCompletionMessageList);
for (const list of ['ChatCompletionList', 'ChatCompletionMessageList', 'ConversationItemList', 'ResponseItemList']) {
  schemas[list] = emptiable(schemas[list]);
}

// Not strict, because OpenAPI has additional keywords. Its format `unixtime` is used on integers and adds nothing.
const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });

/** A check by these schemas, which refer to each other. */
export function checkBy(id, named) {
  ajv.addSchema({ $id: id, components: { schemas: named } });
  return (name, value) => {
    const validate = ajv.getSchema(`${id}#/components/schemas/${name}`);
    if (!validate) throw new Error(`no schema ${name}`);
    if (validate(value)) return;
    const problems = validate.errors.map((error) => `${error.instancePath || '/'} ${error.message}${detail(error)}`);
    throw new Error(`not a ${name}: ${problems.join('; ')}\n${JSON.stringify(value, null, 1)}`);
  };
}

function detail({ keyword, params }) {
  return keyword === 'additionalProperties' ? `: ${params.additionalProperty}` : '';
}

export const check = checkBy('openai', schemas);

/** The schema of an event of a response, by its type. */
export function responseEventSchema(type) {
  const names = schemas.ResponseStreamEvent.anyOf.map((one) => one.$ref.split('/').at(-1));
  const name = names.find((one) => schemas[one].properties.type.enum?.includes(type));
  if (!name) throw new Error(`OpenAI has no event ${type}`);
  return name;
}
