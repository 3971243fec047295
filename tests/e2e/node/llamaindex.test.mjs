// LlamaIndex over the Responses API. For structured output it offers a function, `format_output`, and leaves it to the model to call
// it: a program that needs the object demands the call, and the arguments fit then whatever `strict` says, which it sends as false.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { openaiResponses } from '@llamaindex/openai';
import { z } from 'zod';
import { MODEL } from './support/openai.mjs';
import { Recorder } from './support/recorder.mjs';
import { server } from './support/server.mjs';

const TOOL = 'format_output';
const CHOICES = {
  'as LlamaIndex has it for any tool': 'required',
  'as its Python package has it for one': { type: 'function', function: { name: TOOL } },
  'as the API has it': { type: 'function', name: TOOL },
};

describe('the structured output of LlamaIndex', () => {
  const responseFormat = z.object({ city: z.enum(['Oslo', 'Rome']), size: z.number().int().min(1).max(9) });

  for (const [what, tool_choice] of Object.entries(CHOICES)) {
    for (const strict of [false, true]) {
      it(`matches if it is required ${what}${strict ? ', strictly' : ''}`, async () => {
        const recorder = new Recorder();
        const llm = openaiResponses({
          model: MODEL,
          apiKey: 'any',
          baseURL: `${server}/v1`,
          maxRetries: 0,
          temperature: 0,
          strict,
          additionalChatOptions: { tool_choice },
          additionalSessionOptions: { fetch: recorder.fetch },
        });
        const { object } = await llm.exec({ messages: [{ role: 'user', content: 'Make JSON.' }], responseFormat });
        responseFormat.parse(object);
        const [tool] = recorder.last.body.tools;
        assert.deepEqual([tool.name, tool.strict], [TOOL, strict]);
        recorder.check();
      });
    }
  }
});
