// OpenAI's schemas as checks: `check(name, value)` throws with every place where a value breaks its schema.

import { readFileSync } from 'node:fs';
import Ajv2020 from 'ajv/dist/2020.js';

/** What tests/data/openapi/NAME.json has. */
function published(name) {
  const file = new URL(`../../../data/openapi/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).components.schemas;
}

const orNull = (schema) => ({ anyOf: [schema, { type: 'null' }] });

/** OpenAPI 3.0's `nullable`, which these schemas of 3.1 still use, in the words of JSON Schema. */
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

/** With `echo` nothing comes before the prompt's first token: its log-probability and alternatives are null. */
function echoed(completion) {
  const schema = structuredClone(completion);
  const logprobs = schema.properties.choices.items.properties.logprobs.anyOf[0].properties;
  logprobs.token_logprobs.items = orNull(logprobs.token_logprobs.items);
  logprobs.top_logprobs.items = orNull(logprobs.top_logprobs.items);
  return schema;
}

const schemas = readNullable({ ...published('responses'), ...published('chat') });
schemas.CompletionChunk = completionChunk(schemas.CreateCompletionResponse);
schemas.EchoedCompletion = echoed(schemas.CreateCompletionResponse);
schemas.EchoedCompletionChunk = echoed(schemas.CompletionChunk);

// Not strict: OpenAPI has words of its own. Its format `unixtime` is on integers, and says no more than they do.
const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema({ $id: 'openai', components: { schemas } });

export function check(name, value) {
  const validate = ajv.getSchema(`openai#/components/schemas/${name}`);
  if (!validate) throw new Error(`no schema ${name}`);
  if (!validate(value)) {
    const problems = validate.errors.map((error) => `${error.instancePath || '/'} ${error.message}`);
    throw new Error(`not a ${name}: ${problems.join('; ')}\n${JSON.stringify(value, null, 1)}`);
  }
}

/** The schema of an event of a response, by its type. */
export function responseEventSchema(type) {
  const names = schemas.ResponseStreamEvent.anyOf.map((one) => one.$ref.split('/').at(-1));
  const name = names.find((one) => schemas[one].properties.type.enum?.includes(type));
  if (!name) throw new Error(`OpenAI has no event ${type}`);
  return name;
}
