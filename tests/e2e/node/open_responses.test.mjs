// The Responses API in the dialect of Open Responses, selected by a header, and in OpenAI's: the same requests in both.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MODEL } from './support/openai.mjs';
import { CASES, TOOL } from './support/response_cases.mjs';
import { DIALECTS } from './support/responses.mjs';
import { QUESTION, RESULT } from './support/weather.mjs';

const user = (content) => ({ type: 'message', role: 'user', content });
const textOf = (response) => response.output.at(-1).content[0].text;
const ADA = { input: [user('My name is Ada.')] };
const WHO = user('What is my name?');

for (const [dialect, Client] of Object.entries(DIALECTS)) {
  for (const stream of [false, true]) {
    describe(`a response in the dialect of ${dialect}${stream ? ', streamed' : ''}, of`, () => {
      const client = new Client();

      for (const [name, [request, judge, only = dialect]] of Object.entries(CASES)) {
        if (only !== dialect) continue;
        it(name, async () => judge(await client.respond({ ...request, stream })));
      }

      it('the result of a tool, chained or sent whole', async () => {
        const called = await client.respond({ input: [user(QUESTION)], tools: [TOOL], tool_choice: 'required', stream });
        const call = called.output.at(-1);
        const result = { type: 'function_call_output', call_id: call.call_id, output: JSON.stringify(RESULT) };
        const chained = await client.respond({ previous_response_id: called.id, input: [result], tools: [TOOL], stream });
        assert.equal(chained.previous_response_id, called.id);
        assert.match(textOf(chained), /21/);
        const whole = await client.respond({ input: [user(QUESTION), ...called.output, result], tools: [TOOL], store: false, stream });
        assert.equal(textOf(whole), textOf(chained));
        await client.get(`/responses/${chained.id}/input_items`);
      });

      it('a custom tool', async () => {
        const tools = [{ type: 'custom', name: 'note', description: 'Writes down a note' }];
        const input = [user('Note that I like tea.')];
        if (dialect === 'Open Responses') { // does not define custom tools, and allows no others under its own names
          const { status, body } = await client.post('/responses', { model: MODEL, input, tools, stream });
          assert.deepEqual([status, body.error.param], [400, 'tools']);
          return;
        }
        const called = await client.respond({ input, tools, tool_choice: 'required', max_output_tokens: 64, stream });
        assert.match(called.output.at(-1).type, /custom_tool_call$/);
        const { call_id } = called.output.at(-1);
        const result = { type: 'custom_tool_call_output', call_id, output: 'noted' };
        await client.respond({ input: [...input, ...called.output, result], tools, stream });
      });

      it('another response, a conversation, and items by their ids', async () => {
        const first = await client.respond({ ...ADA, stream });
        assert.match(textOf(await client.respond({ previous_response_id: first.id, input: [WHO], stream })), /Ada/);
        const { body: items } = await client.get(`/responses/${first.id}/input_items`);
        const input = [items.data[0], first.output[0]].map(({ id }) => ({ type: 'item_reference', id }));
        assert.match(textOf(await client.respond({ input: [...input, WHO], stream })), /Ada/);
        const { body: conversation } = await client.post('/conversations', { items: ADA.input });
        const told = await client.respond({ conversation: conversation.id, input: [WHO], stream });
        assert.match(textOf(told), /Ada/);
        assert.deepEqual(told.conversation, { id: conversation.id });
        const { body: list } = await client.get(`/conversations/${conversation.id}/items?order=asc`);
        assert.deepEqual(list.data.map((item) => item.role), ['user', 'user', 'assistant']);
      });

      it('plain reasoning, and sealed reasoning', async () => {
        const thinking = { input: [user('What is 12 + 30 - 7?')], chat_template_kwargs: { enable_thinking: true }, stream };
        const first = await client.respond({ ...thinking, include: ['reasoning.encrypted_content'] });
        const [reasoning, message] = first.output;
        const { content, ...sealed } = reasoning;
        for (const one of [reasoning, sealed]) await client.respond({ input: [...thinking.input, one, message, user('What is 34 + 58?')], stream });
      });

      it('items with every nullable member null, listed without them', async () => {
        const none = { id: null, status: null };
        const input = [
          { ...user('What is the weather in Oslo?'), ...none },
          { type: 'reasoning', id: null, summary: [], content: null, encrypted_content: null },
          { type: 'function_call', call_id: 'call_1', name: TOOL.name, arguments: '{"city": "Oslo"}', ...none },
          { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_text', text: '{"temperature": 7}' }], ...none },
          { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'It is 7 degrees.' }], phase: 'final_answer', ...none },
          user('Thank you.'),
        ];
        const { id } = await client.respond({ input, tools: [TOOL], stream });
        const { status, body } = await client.get(`/responses/${id}/input_items?order=asc`);
        assert.equal(status, 200);
        assert.deepEqual(body.data.map((item) => item.type), input.map((item) => item.type));
        assert.ok(body.data.every((item) => typeof item.id === 'string'));
      });

      it('a compacted conversation', async () => {
        const first = await client.respond({ ...ADA, stream });
        for (const source of [{ input: [...ADA.input, ...first.output] }, { previous_response_id: first.id }]) {
          const { status, body } = await client.post('/responses/compact', { model: MODEL, prompt_cache_key: 'ada', ...source });
          assert.equal(status, 200);
          assert.ok(body.output.some((item) => item.type === 'compaction'));
          assert.match(textOf(await client.respond({ input: [...body.output, WHO], stream })), /Ada/);
        }
      });
    });
  }

  describe(`the dialect of ${dialect}`, () => {
    const client = new Client();

    it('covers a response in the background, its stream and its end', async () => {
      const { body } = await client.post('/responses', { model: MODEL, input: 'Count to 9.', background: true });
      assert.match(body.status, /queued|in_progress/);
      let response = body;
      while (/queued|in_progress/.test(response.status)) ({ body: response } = await client.get(`/responses/${body.id}`));
      assert.equal(response.status, 'completed');
      const told = await client.respond({ input: 'Count to 9.', background: true, stream: true });
      const { events } = await client.get(`/responses/${told.id}?stream=true&starting_after=3`);
      assert.equal(events[0].sequence_number, 4);
      assert.deepEqual(events.at(-1).response, told);
      assert.deepEqual((await client.get(`/responses/${told.id}`)).body, told);
    });

    it('covers a cancelled response', async () => {
      const endless = { model: MODEL, input: 'Tell me a story.', background: true, ignore_eos: true, stream: false };
      const { body } = await client.post('/responses', endless);
      assert.equal((await client.post(`/responses/${body.id}/cancel`)).body.status, 'cancelled');
      assert.equal((await client.get(`/responses/${body.id}`)).body.status, 'cancelled');
    });

    it('counts tokens', async () => {
      const { status, body } = await client.post('/responses/input_tokens', { model: MODEL, ...ADA, tools: [TOOL] });
      assert.equal(status, 200);
      assert.ok(body.input_tokens > 0);
    });
  });
}
