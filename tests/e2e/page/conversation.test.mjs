// The tree of a conversation, without a browser.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as conversations from '../../../server/page/conversation.js';

function talk() {
  const made = conversations.create({ model: 'demo', system: '' });
  const question = conversations.add(made, null, { role: 'user', text: 'one', files: [] });
  const answer = conversations.add(made, question.id, { role: 'assistant', text: 'two', status: 'completed' });
  return { made, question, answer };
}

describe('a conversation', () => {
  it('shows the branch of its last message, and switches to the newest end of another', () => {
    const { made, question, answer } = talk();
    const other = conversations.add(made, question.id, { role: 'assistant', text: 'three', status: 'completed' });
    assert.deepEqual(conversations.branch(made).map((node) => node.text), ['one', 'three']);
    assert.deepEqual(conversations.version(made, other), { index: 1, total: 2 });
    conversations.switchVersion(made, other, -1);
    assert.equal(made.leaf, answer.id);
    const next = conversations.add(made, answer.id, { role: 'user', text: 'four', files: [] });
    conversations.switchVersion(made, answer, 1);
    conversations.switchVersion(made, other, -1);
    assert.equal(made.leaf, next.id);
  });

  it('makes the request of a branch, with what is set and nothing else', () => {
    const { made, question, answer } = talk();
    Object.assign(made.settings, { system: 'Be brief.', temperature: '0.5', top_k: ' ', seed: '0', schema: '{"type": "object"}', thinking: 'off', thinking_budget: '64' });
    const body = conversations.requestOf(made, question.id);
    assert.deepEqual(body.input, [{ role: 'user', content: 'one' }]);
    assert.equal(body.instructions, 'Be brief.');
    assert.equal(body.temperature, 0.5);
    assert.equal(body.seed, 0);
    assert.equal('top_k' in body, false);
    assert.equal(body.reasoning_budget_tokens, 64);
    assert.equal(body.text.format.type, 'json_schema');
    assert.deepEqual(body.chat_template_kwargs, { enable_thinking: false });
    assert.ok(body.background && body.stream && body.store);
    assert.equal(body.continue_final_message, undefined);
    assert.equal(conversations.requestOf(made, answer.id).continue_final_message, true);
    made.settings.schema = '{';
    assert.throws(() => conversations.requestOf(made, question.id), SyntaxError);
  });

  it('puts files before the question', () => {
    const { made } = talk();
    const node = conversations.add(made, made.leaf, { role: 'user', text: 'Read.', files: [{ name: 'a.txt', text: 'alpha' }] });
    assert.equal(conversations.requestOf(made, node.id).input.at(-1).content, 'File a.txt:\nalpha\n\nRead.');
  });

  it('says why a prompt was read', () => {
    const { made, question } = talk();
    const before = conversations.requestOf(made, question.id);
    const next = conversations.add(made, made.leaf, { role: 'user', text: 'more', files: [] });
    const after = conversations.requestOf(made, next.id);
    assert.deepEqual(conversations.causeOf(after, null, { cached: 0 }), { cause: 'first' });
    assert.deepEqual(conversations.causeOf(after, null, { cached: 9 }), { cause: 'shared' });
    assert.deepEqual(conversations.causeOf(after, before, { cached: 9 }), { cause: 'cached' });
    assert.deepEqual(conversations.causeOf(after, before, { cached: 0 }), { cause: 'evicted' });
    assert.deepEqual(conversations.causeOf(after, { ...before, model: 'other' }, { cached: 0 }), { cause: 'model' });
    assert.deepEqual(conversations.causeOf(after, { ...before, instructions: 'x' }, { cached: 0 }), { cause: 'instructions' });
    assert.deepEqual(conversations.causeOf({ ...after, input: [{ role: 'user', content: 'changed' }] }, before, { cached: 0 }), { cause: 'edited', turn: 1 });
  });

  it('merges the copies of two tabs', () => {
    const { made, question, answer } = talk();
    const other = structuredClone(made);
    conversations.add(other, question.id, { role: 'assistant', text: 'from the other tab', status: 'completed' });
    Object.assign(other.nodes[answer.id], { text: 'older', revision: 1 });
    Object.assign(made.nodes[answer.id], { text: 'newer', revision: 2 });
    other.title = 'Named';
    conversations.touch(other);
    conversations.merge(made, other);
    assert.equal(made.nodes[answer.id].text, 'newer');
    assert.equal(made.nodes[question.id].children.length, 2);
    assert.equal(made.title, 'Named');
    assert.equal(made.leaf, answer.id);
    assert.equal(made.nodes[answer.id], answer);
  });

  it('reads its own exports, and nothing else', () => {
    const { made } = talk();
    const exported = JSON.parse(JSON.stringify(conversations.exportOf([made])));
    const [read] = conversations.importOf(exported);
    assert.notEqual(read.id, made.id);
    assert.deepEqual(conversations.branch(read).map((node) => node.text), ['one', 'two']);
    const broken = (change) => {
      const copy = structuredClone(exported);
      change(copy.conversations[0]);
      return conversations.importOf(copy);
    };
    assert.equal(conversations.importOf(null), null);
    assert.equal(conversations.importOf({ format: 'other', conversations: [] }), null);
    assert.equal(broken((one) => { one.leaf = 'missing'; }), null);
    assert.equal(broken((one) => { one.nodes[one.leaf].children.push(one.roots[0]); }), null);
    assert.equal(broken((one) => { one.leaf = 'toString'; }), null);
    assert.equal(broken((one) => { one.nodes.extra = { ...one.nodes[one.leaf], id: 'extra' }; }), null);
    const [odd] = conversations.importOf({ format: conversations.format, conversations: [{ ...exported.conversations[0], title: 5, settings: { schema: 5 },
      nodes: Object.fromEntries(Object.entries(exported.conversations[0].nodes).map(([id, node]) => [id, { ...node, text: 5, files: 'x', calls: {} }])) }] });
    assert.deepEqual(conversations.branch(odd).map((node) => node.text), ['', '']);
    assert.equal(odd.settings.schema, '');
    const long = { format: conversations.format, conversations: [conversations.create()] };
    for (let index = 0; index < 5000; ++index) conversations.add(long.conversations[0], long.conversations[0].leaf, { role: 'user', text: 'x', files: [] });
    assert.equal(Object.keys(conversations.importOf(long)[0].nodes).length, 5000);
    assert.equal(broken((one) => { one.nodes[one.roots[0]].children.push('missing'); }), null);
    assert.equal(broken((one) => { one.nodes[one.leaf].role = 'system'; }), null);
    assert.equal(broken((one) => { delete one.nodes; }), null);
  });

  it('is made of a response of the server', () => {
    const input = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'What time is it?' }] },
      { type: 'function_call', call_id: 'c', name: 'clock', arguments: '{}' }, { type: 'function_call_output', call_id: 'c', output: '12:00' }];
    const output = [{ type: 'reasoning', content: [{ type: 'reasoning_text', text: 'Noon.' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'It is noon.' }] }];
    const made = conversations.fromResponse({ id: 'resp_1', model: 'demo', status: 'completed', created_at: 1, instructions: 'Be brief.', output }, input);
    const nodes = conversations.branch(made);
    assert.deepEqual(nodes.map((node) => node.role), ['user', 'assistant', 'tool', 'assistant']);
    assert.equal(nodes[1].calls[0].name, 'clock');
    assert.equal(nodes[3].text, 'It is noon.');
    assert.equal(nodes[3].reasoning, 'Noon.');
    assert.equal(made.settings.system, 'Be brief.');
    const open = conversations.fromResponse({ id: 'resp_2', model: 'demo', status: 'in_progress', created_at: 1, output: [] }, input.slice(0, 1));
    assert.ok(conversations.isRunning(conversations.branch(open).at(-1)));
  });
});
