// Codex CLI, unmodified and non-interactive: its requests use OpenAI's newest form of the Responses API.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startCodex } from './support/codex.mjs';
import { NAME, QUESTION, RESULT } from './support/weather.mjs';

const said = (items) => items.filter(({ type }) => type === 'agent_message').map((item) => item.text).at(-1);
const itemOf = (items, type) => items.find((item) => item.type === type);
const callsOf = (body) => body.input.filter(({ type }) => type === 'function_call');
const outputsOf = (body) => body.input.filter(({ type }) => type === 'function_call_output');
const textOf = (output) => (typeof output === 'string' ? output : output.map((part) => part.text).join('\n'));

describe('codex exec', () => {
  let codex;
  before(async () => {
    codex = await startCodex();
  });
  after(() => codex.stop());

  it('answers, though it offers namespaces and hosted tools', async () => {
    const { items, exchanges } = await codex.exec('What is 34 + 58? []');
    assert.equal(said(items), '92');
    const [{ path, body, status, ignored }] = exchanges;
    assert.deepEqual([exchanges.length, path, status], [1, '/v1/responses', 200]);
    const spaces = body.tools.filter(({ type }) => type === 'namespace').map(({ name }) => name);
    assert.ok(spaces.length >= 2 && spaces.includes('mcp__weather'), spaces.join());
    assert.ok(body.tools.some(({ type }) => type === 'web_search'));
    assert.ok(ignored.includes('tools.web_search'), ignored.join());
  });

  it('continues a session', async () => {
    const { items, exchanges } = await codex.exec('resume', '--last', 'What is 20 + 31? []');
    assert.equal(said(items), '51');
    const texts = exchanges[0].body.input.filter(({ type }) => type === 'message').map(({ content }) => textOf(content));
    assert.deepEqual(texts.slice(-3), ['What is 34 + 58? []', '92', 'What is 20 + 31? []']);
  });

  it('runs a command that the model calls, and returns its result', async () => {
    const { items, exchanges } = await codex.exec('Run the command pwd. [exec_command]');
    const run = itemOf(items, 'command_execution');
    assert.match(run.command, /pwd/);
    assert.deepEqual(exchanges.map(({ status }) => status), exchanges.map(() => 200));
    const [call] = callsOf(exchanges[1].body);
    assert.equal(call.name, 'exec_command');
    assert.deepEqual(JSON.parse(call.arguments), { cmd: 'pwd' });
    const [output] = outputsOf(exchanges[1].body);
    assert.equal(output.call_id, call.call_id);
    assert.ok(textOf(output.output).includes(run.aggregated_output.trim()));
    assert.ok(said(items) !== undefined, 'the model says something in the end');
  });

  it("calls an MCP server's tool, which is in a namespace", async () => {
    const { items, exchanges } = await codex.exec(`${QUESTION} [mcp__weather__${NAME}]`);
    const call = itemOf(items, 'mcp_tool_call');
    assert.deepEqual([call.server, call.tool, call.arguments], ['weather', NAME, { city: 'Lisbon' }]);
    assert.equal(call.status, 'completed');
    const [given] = callsOf(exchanges[1].body);
    assert.deepEqual([given.namespace, given.name], ['mcp__weather', NAME]);
    assert.match(textOf(outputsOf(exchanges[1].body)[0].output), /sunny/);
    assert.match(said(items), new RegExp(String(RESULT.temperature)));
  });

  it('constrains the answer to --output-schema', async () => {
    const properties = { city: { type: 'string', enum: ['Oslo', 'Rome'] }, size: { type: 'integer', minimum: 1, maximum: 9 } };
    const schema = { type: 'object', properties, required: ['city', 'size'], additionalProperties: false };
    const file = join(codex.work, 'schema.json');
    writeFileSync(file, JSON.stringify(schema));
    const { items, exchanges } = await codex.exec('--output-schema', file, 'Make JSON. []');
    assert.equal(exchanges[0].body.text.format.type, 'json_schema');
    const { city, size, ...more } = JSON.parse(said(items));
    assert.ok(properties.city.enum.includes(city));
    assert.ok(Number.isInteger(size) && size >= 1 && size <= 9);
    assert.deepEqual(more, {});
  });
});
