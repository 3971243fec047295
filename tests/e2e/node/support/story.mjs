// Checks that the events of a streamed response are consistent with each other and with the final response.
// Source: Open Responses, "Items are streamable" and "Items are state machines"; OpenAI's service does the same.

import assert from 'node:assert/strict';

const LAST = ['response.completed', 'response.incomplete', 'response.failed'];
/** For each part of an item: its last event, and the member with the complete text. */
const WHOLES = /^(response\.[a-z_]+)\.done$/;

/** @param {object[]} events of a complete stream */
export function checkStory(events) {
  events.forEach((event, i) => assert.equal(event.sequence_number, i, `the number of ${event.type}`));
  assert.equal(events[0].type, 'response.created');
  assert.ok(LAST.includes(events.at(-1).type), `the last event is ${events.at(-1).type}`);
  const items = [];
  const deltas = new Map();
  for (const event of events.slice(1, -1)) {
    assert.ok(!LAST.includes(event.type), `${event.type} before the end`);
    if (event.type === 'response.output_item.added') begin(items, event);
    else if (event.type === 'response.output_item.done') end(items, event);
    else if (event.item_id !== undefined) follow(items[event.output_index], event, deltas);
  }
  const { response } = events.at(-1);
  assert.equal(events.at(-1).type, `response.${response.status === 'cancelled' ? 'incomplete' : response.status}`);
  assert.deepEqual(items, response.output, 'the items that were told and those of the response');
  checkEnd(response);
}

/** Only the last item of an incomplete response may be incomplete. */
export function checkEnd(response) {
  const cut = response.output.findIndex((item) => item.status === 'incomplete');
  if (cut < 0) return;
  assert.equal(cut, response.output.length - 1, 'something comes after an incomplete item');
  assert.notEqual(response.status, 'completed', 'a response with an incomplete item');
}

function begin(items, { output_index, item }) {
  assert.equal(output_index, items.length);
  if (item.status !== undefined) assert.equal(item.status, 'in_progress');
  items.push(item);
}

function end(items, { output_index, item }) {
  assert.equal(output_index, items.length - 1, 'an item ends that is not the last');
  assert.equal(item.id, items[output_index].id);
  items[output_index] = item;
}

/** An event of an item: the deltas add up to the complete text that follows them. */
function follow(item, event, deltas) {
  assert.equal(event.item_id, item.id, event.type);
  const key = JSON.stringify([event.item_id, event.content_index, event.summary_index, event.type.replace(/\.[a-z]+$/, '')]);
  if (event.type.endsWith('.delta')) return deltas.set(key, (deltas.get(key) ?? '') + event.delta);
  if (!WHOLES.test(event.type) || event.part) return;
  const whole = event.text ?? event.arguments ?? event.input ?? event.refusal;
  assert.equal(deltas.get(key) ?? '', whole, `the pieces before ${event.type}`);
}
