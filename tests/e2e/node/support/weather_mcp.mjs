// An MCP server over standard streams, with the tool that the embedded model can call.

import { createInterface } from 'node:readline';
import { DESCRIPTION, NAME, RESULT, WEATHER } from './weather.mjs';

const NO_METHOD = -32601;
const TOOL = { name: NAME, description: DESCRIPTION, inputSchema: WEATHER.function.parameters, annotations: { readOnlyHint: true } };

function resultOf({ method, params }) {
  if (method === 'initialize') {
    return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'weather', version: '1' } };
  }
  if (method === 'tools/list') return { tools: [TOOL] };
  if (method === 'tools/call') return { content: [{ type: 'text', text: JSON.stringify({ ...params.arguments, ...RESULT }) }] };
  return undefined;
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.id === undefined) continue; // a notification
  const result = resultOf(message);
  const rest = result === undefined ? { error: { code: NO_METHOD, message: 'no such method' } } : { result };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, ...rest })}\n`);
}
