// OpenAI's Agents SDK: agents with tools and memory, over the Responses API.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Agent, OpenAIChatCompletionsModel, OpenAIConversationsSession, OpenAIResponsesModel } from '@openai/agents';
import { run, setDefaultOpenAIClient, setTracingDisabled, tool } from '@openai/agents';
import { z } from 'zod';
import { all, MODEL, openaiOfSuite } from './support/openai.mjs';
import { DESCRIPTION, NAME, QUESTION, RESULT } from './support/weather.mjs';

// Traces would go to OpenAI's own server, whatever the base URL.
setTracingDisabled(true);

const modelSettings = { temperature: 0 };

/** A tool with the list of its calls. */
function weather() {
  const asked = [];
  const execute = async (input) => (asked.push(input), JSON.stringify(RESULT));
  return { asked, tool: tool({ name: NAME, description: DESCRIPTION, parameters: z.object({ city: z.string() }), execute }) };
}

/** Concatenates the texts of a run's stream. */
async function textOf(result) {
  const events = await all(result);
  await result.completed;
  const deltas = events.filter((event) => event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta');
  return deltas.map((event) => event.data.delta).join('');
}

describe('the Agents SDK', () => {
  const { client, recorder } = openaiOfSuite();
  setDefaultOpenAIClient(client); // permanent: models that the SDK creates by name keep it
  const plain = new Agent({ name: 'Plain', model: MODEL, modelSettings });

  describe('runs an agent that', () => {
    it('answers', async () => {
      const result = await run(plain, 'What is 34 + 58?');
      assert.equal(result.finalOutput, '92');
      assert.ok(recorder.last.path === '/responses' && recorder.exchanges.length === 1);
      const { usage } = result.state;
      assert.equal(usage.totalTokens, usage.inputTokens + usage.outputTokens);
      assert.ok(usage.outputTokens > 0);
    });

    it('streams its answer', async () => {
      const result = await run(plain, 'Count to 9.', { stream: true });
      assert.equal(await textOf(result), '1, 2, 3, 4, 5, 6, 7, 8, 9');
      assert.equal(result.finalOutput, '1, 2, 3, 4, 5, 6, 7, 8, 9');
    });

    it('answers in a schema', async () => {
      const outputType = z.object({ city: z.enum(['Oslo', 'Rome']), size: z.number().int().min(1).max(9) });
      const { finalOutput } = await run(new Agent({ name: 'Typed', model: MODEL, modelSettings, outputType }), 'Make JSON.');
      outputType.parse(finalOutput);
    });

    it('stores its reasoning in the history', async () => {
      const providerData = { chat_template_kwargs: { enable_thinking: true } };
      const thinking = { ...modelSettings, reasoning: { summary: 'auto' }, providerData };
      const thinker = new Agent({ name: 'Thinker', model: MODEL, modelSettings: thinking });
      const first = await run(thinker, 'What is 12 + 30 - 7?');
      assert.equal(first.finalOutput, '35');
      assert.deepEqual(first.newItems.map((item) => item.type), ['reasoning_item', 'message_output_item']);
      const second = await run(thinker, [...first.history, { role: 'user', content: 'What is 34 + 58?' }]);
      assert.equal(second.finalOutput, '92');
      assert.deepEqual(recorder.last.body.input.map((item) => item.type ?? item.role), ['user', 'reasoning', 'message', 'user']);
    });

    const models = { responses: OpenAIResponsesModel, 'chat completions': OpenAIChatCompletionsModel };
    for (const [api, Model] of Object.entries(models)) {
      for (const stream of [false, true]) {
        it(`calls a tool and uses its result, over ${api}${stream ? ', streamed' : ''}`, async () => {
          const { asked, tool: one } = weather();
          const instructions = 'You tell the weather.';
          const agent = new Agent({ name: 'Teller', instructions, model: new Model(client, MODEL), modelSettings, tools: [one] });
          const result = await run(agent, QUESTION, { stream });
          if (stream) assert.match(await textOf(result), /21/);
          assert.deepEqual(asked, [{ city: 'Lisbon' }]);
          assert.match(result.finalOutput, /21/);
          assert.deepEqual(result.newItems.map((item) => item.type), ['tool_call_item', 'tool_call_output_item', 'message_output_item']);
          assert.equal(recorder.exchanges.length, 2);
        });
      }
    }
  });

  describe('remembers by', () => {
    for (const stream of [false, true]) {
      it(`the previous response${stream ? ', streamed' : ''}`, async () => {
        const first = await run(plain, 'My name is Ada.', { stream });
        if (stream) await first.completed;
        const second = await run(plain, 'What is my name?', { stream, previousResponseId: first.lastResponseId });
        if (stream) await second.completed;
        assert.match(second.finalOutput, /Ada/);
        assert.equal(recorder.last.body.input.length, 1, 'the first turn is not sent again');
      });

      it(`a conversation${stream ? ', streamed' : ''}`, async () => {
        const { id: conversationId } = await client.conversations.create({ metadata: { about: 'names' } });
        for (const text of ['My name is Ada.', 'What is my name?']) {
          const result = await run(plain, text, { stream, conversationId });
          if (stream) await result.completed;
          assert.match(result.finalOutput, /Ada/);
          assert.equal(recorder.last.body.input.length, 1);
        }
        const items = await all(client.conversations.items.list(conversationId, { order: 'asc' }));
        assert.deepEqual(items.map((item) => item.role), ['user', 'assistant', 'user', 'assistant']);
      });
    }

    for (const kind of ['previousResponseId', 'conversationId']) {
      it(`${kind}, tool calls included`, async () => {
        const { asked, tool: one } = weather();
        const teller = new Agent({ name: 'Teller', model: MODEL, modelSettings, tools: [one] });
        const isConversation = kind === 'conversationId';
        const id = isConversation ? (await client.conversations.create()).id : (await run(plain, 'Hello!')).lastResponseId;
        const result = await run(teller, QUESTION, { [kind]: id });
        assert.deepEqual(asked, [{ city: 'Lisbon' }]);
        assert.match(result.finalOutput, /21/);
        assert.deepEqual(recorder.last.body.input.map((item) => item.type), ['function_call_output']);
        if (!isConversation) return;
        const items = await all(client.conversations.items.list(id, { order: 'asc' }));
        assert.deepEqual(items.map((item) => item.type), ['message', 'function_call', 'function_call_output', 'message']);
      });
    }

    it('a session stored by the server', async () => {
      const session = new OpenAIConversationsSession({ client });
      await run(plain, 'My name is Ada.', { session });
      assert.match((await run(plain, 'What is my name?', { session })).finalOutput, /Ada/);
      const rolesOf = (items) => items.map((item) => item.role);
      assert.deepEqual(rolesOf(await session.getItems()), ['user', 'assistant', 'user', 'assistant']);
      assert.match((await session.getItems(1))[0].content[0].text, /Your name is Ada/);
      assert.equal((await session.popItem()).role, 'assistant');
      assert.deepEqual(rolesOf(await session.getItems()), ['user', 'assistant', 'user']);
      const id = session.sessionId;
      await session.clearSession();
      await assert.rejects(client.conversations.retrieve(id), { status: 404 });
    });
  });
});
