// The schemas of Open Responses, 2026-04-24, as checks; stricter than published: unknown members are refused.

import assert from 'node:assert/strict';
import { checkBy, published } from './schema.mjs';

const TEXT = { type: 'string' };
const STATUS = { $ref: '#/components/schemas/MessageStatus' };

/**
 * Members that the server adds, as "Extending existing schemas" allows. The text of the standard has two of them
 * itself: a conversation in "Stateful Conversations", a status of every item in "Required item fields".
 */
const EXTENSIONS = {
  ResponseResource: {
    conversation: { anyOf: [{ type: 'object', required: ['id'], properties: { id: TEXT } }, { type: 'null' }] },
    output_text: TEXT,
    user: TEXT,
    etna: { type: 'object', properties: { dropped_items: { type: 'integer' } }, additionalProperties: false },
  },
  ReasoningBody: { status: STATUS },
  CompactResource: { etna: { type: 'object' } },
  InputTokensDetails: { cache_write_tokens: { type: 'integer' } },
  ResponseFunctionCallArgumentsDoneStreamingEvent: { name: TEXT },
};

/** Extensions of the standard carry a vendor prefix: "Extending Items", "... streaming events". */
const OF_OTHERS = /^[a-z]+:/;
const schemas = published('open_responses');

function closed(name, schema) {
  if (!schema.properties) return schema;
  return { ...schema, properties: { ...EXTENSIONS[name], ...schema.properties }, additionalProperties: false };
}

const typeOf = (name) => schemas[name]?.properties?.type;
const namesOf = (union) => union.oneOf.map((one) => one.$ref?.split('/').at(-1));

/** A union whose members differ by `type`, so that errors are reported for the intended one. */
function byType(union, mayBeOfOthers) {
  const names = namesOf(union);
  const type = { enum: names.flatMap((name) => typeOf(name).enum) };
  return {
    type: 'object',
    required: ['type'],
    properties: { type: mayBeOfOthers ? { anyOf: [type, { pattern: OF_OTHERS.source }] } : type },
    allOf: union.oneOf.map((one, i) => ({ if: { properties: { type: typeOf(names[i]) } }, then: one })),
  };
}

function told(schema) {
  if (Array.isArray(schema)) return schema.map(told);
  if (schema === null || typeof schema !== 'object') return schema;
  if (schema.oneOf && namesOf(schema).every(typeOf)) return byType(schema, false);
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, told(value)]));
}

/** The document allows only null for `schema`; the standard's sources have corrected that. */
schemas.JsonSchemaResponseFormat.properties.schema = { type: ['object', 'null'] };

const read = Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, closed(name, told(schema))]));
for (const name of ['ItemField', 'Tool']) read[name] = byType(schemas[name], true);
read.ItemList = { type: 'object', required: ['data'], properties: { data: { type: 'array', items: { $ref: '#/components/schemas/ItemField' } } } };
read.ErrorBody = { type: 'object', required: ['error'], properties: { error: { $ref: '#/components/schemas/ErrorPayload' } }, additionalProperties: false };

export const checkOpen = checkBy('open-responses', read);

/** An event of a stream, by its type. */
export function checkOpenEvent(event) {
  if (OF_OTHERS.test(event.type)) return assert.equal(typeof event.sequence_number, 'number');
  const names = Object.keys(schemas).filter((name) => name.endsWith('StreamingEvent'));
  const name = names.find((one) => schemas[one].properties.type.enum.includes(event.type));
  assert.ok(name, `Open Responses has no event ${event.type}: ${JSON.stringify(event)}`);
  checkOpen(name, event);
}

/** "Error Types" with their members. The standard does not define other refusals. */
const TYPES = { 400: ['invalid_request'], 404: ['not_found'], 429: ['too_many_requests'], 500: ['server_error', 'model_error'] };

export function checkOpenError(status, body) {
  checkOpen('ErrorBody', body);
  const known = TYPES[status] ?? Object.values(TYPES).flat();
  assert.ok(known.includes(body.error.type), `an error ${status} is of the type ${body.error.type}, which is none of ${known}`);
}
