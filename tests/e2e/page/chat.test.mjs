// The chat: answers with their figures, branches, settings, files, conversations, the keyboard.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { answered, ask, extendRequests, fixture, openPage, script } from './support.mjs';

const MARKDOWN = `Use an explicit stack, as [Hoare](https://example.org/quick) did:

\`\`\`python
def sort(values):
    return values
\`\`\`

| case | cost |
|:--|--:|
| best | n log n |

1. Push the range.
2. Pop **one**.

Math stays readable: $a^2$.`;
const SCHEMA = '{"type": "object", "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 99}}, "required": ["age"], "additionalProperties": false}';
const TOOLS = JSON.stringify([{ type: 'function', name: 'clock', description: 'the time', parameters: { type: 'object', properties: {} } }]);

describe('the chat', () => {
  const on = fixture();

  async function withPage(options, work) {
    const opened = await openPage(on.browser, on.server.address, options);
    try {
      await work(opened.page, opened);
      assert.deepEqual(opened.problems, []);
    } finally {
      await opened.context.close();
    }
  }

  const setting = async (page, values) => {
    await page.getByRole('button', { name: 'Settings' }).click();
    for (const [label, value] of Object.entries(values)) await page.getByLabel(label, { exact: true }).fill(value);
    await page.getByRole('button', { name: 'Done' }).click();
  };

  it('answers, and says under the answer what it took', () => withPage({}, async (page) => {
    await ask(page, 'What is 34 + 58?');
    const answer = await answered(page);
    assert.match(await answer.locator('.prose').last().innerText(), /92/);
    assert.match(await answer.locator('.figures').innerText(), /^[\d.]+ s to first token · [\d.,]+ tokens\/s · read \d+, cached \d+$/);
    await answer.locator('.figures').click();
    const details = await page.getByRole('dialog').innerText();
    for (const part of ['first question', 'Read the prompt', 'Generated', 'resp_']) assert.ok(details.includes(part), details);
    await page.keyboard.press('Escape');
    assert.match(page.url(), /#\/chat\//);
  }));

  it('says why the second question was fast, and why the one after a new system prompt was not', () => withPage({}, async (page) => {
    const why = async () => {
      await (await answered(page)).locator('.figures').click();
      const text = await page.getByRole('dialog').locator('p').first().innerText();
      await page.keyboard.press('Escape');
      return text;
    };
    await ask(page, 'What is 12 + 30? Answer with the number, and remember that I like long sums, such as 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9.');
    await answered(page);
    await ask(page, 'And what is 3 + 4?');
    assert.match(await why(), /begins as the one before/);
    await setting(page, { 'System prompt': 'You are brief.' });
    await ask(page, 'What is 1 + 1?');
    assert.match(await why(), /system prompt, the tools or the schema changed/);
  }));

  it('shows Markdown, with code that can be copied', () => withPage({}, async (page) => {
    await script(page, [MARKDOWN, { reasoning: 'A stack will do.' }]);
    await ask(page, 'How do I sort without recursion?');
    const answer = await answered(page);
    assert.equal(await answer.locator('figure.code .hljs-keyword').first().innerText(), 'def');
    await answer.getByRole('button', { name: 'Copy code' }).click();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'def sort(values):\n    return values');
    assert.equal(await answer.locator('table tbody tr').count(), 1);
    assert.equal(await answer.locator('ol li').count(), 2);
    assert.equal(await answer.locator('a').getAttribute('href'), 'https://example.org/quick');
    assert.match(await answer.innerText(), /\$a\^2\$/);
    assert.match(await answer.locator('.thought summary').innerText(), /^Thought/);
    assert.equal(await answer.locator('.thought .prose').isVisible(), false);
    assert.equal(await answer.locator('.figures').innerText(), '0.21 s to first token · 41.9 tokens/s · read 312, cached 1,840');
  }));

  it('folds the thought with its seconds', () => withPage({}, async (page) => {
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByLabel('Think before the answer').selectOption('Think');
    await page.getByLabel('Temperature').fill('0');
    await page.getByRole('button', { name: 'Done' }).click();
    await ask(page, 'What is 12 + 30 - 7?');
    const answer = await answered(page);
    assert.match(await answer.locator('.thought summary').innerText(), /^Thought for [\d.]+ s$/);
    assert.equal(await answer.locator('.prose').last().innerText(), '35');
    await answer.locator('.thought summary').click();
    assert.match(await answer.locator('.thought .prose').innerText(), /42/); // 12 + 30
  }));

  it('stops, continues, answers again and keeps every version', () => withPage({}, async (page) => {
    await extendRequests(page, { ignore_eos: true, max_output_tokens: 1500 });
    await ask(page, 'Count to seven.');
    await page.locator('.message.assistant .prose').last().filter({ hasText: /\S/ }).waitFor();
    await page.keyboard.press('Escape');
    const answer = await answered(page);
    assert.match(await answer.innerText(), /Stopped\./);
    const before = await answer.locator('.prose').last().innerText();
    await page.unroute('**/v1/responses');
    await extendRequests(page, { ignore_eos: true, max_output_tokens: 8 });
    await answer.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Cut off at the limit of tokens.').waitFor();
    assert.ok((await answer.locator('.prose').last().innerText()).length > before.length);
    await answer.getByRole('button', { name: 'Answer again' }).click();
    await page.getByText('2 of 2', { exact: true }).waitFor();
    await answered(page);
    await page.getByRole('button', { name: 'Previous version' }).click();
    await page.getByText('1 of 2', { exact: true }).waitFor();
    assert.match(await page.locator('.message.assistant').innerText(), /Cut off/);
  }));

  it('edits a question into a branch of its own', () => withPage({}, async (page) => {
    await ask(page, 'What is 2 + 2?');
    await answered(page);
    await page.locator('.message.user').hover();
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Edit' }).fill('What is 40 + 2?');
    await page.keyboard.press('Enter');
    await page.getByText('2 of 2', { exact: true }).waitFor();
    assert.match(await (await answered(page)).innerText(), /42/);
    await page.getByRole('button', { name: 'Previous version' }).click();
    assert.match(await page.locator('.message.user').innerText(), /2 \+ 2/);
  }));

  it('keeps an answer to a schema, and says so under it', () => withPage({}, async (page) => {
    await page.getByRole('button', { name: 'Settings' }).click();
    const field = page.getByLabel('JSON schema');
    await field.fill('{"type": ');
    assert.match(await page.getByRole('dialog').innerText(), /Not valid JSON/);
    await field.fill(SCHEMA);
    await page.getByRole('button', { name: 'Done' }).click();
    await ask(page, 'Give me a JSON object with an age.');
    const answer = await answered(page);
    assert.ok(Number.isInteger(JSON.parse(await answer.locator('.prose').last().innerText()).age));
    assert.match(await answer.locator('.figures').innerText(), /schema held$/);
  }));

  it('shows the calls of tools, and sends their results', () => withPage({}, async (page) => {
    const requests = [];
    await page.route('**/v1/responses', (route) => {
      requests.push(route.request().postDataJSON());
      const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'clock', arguments: '' };
      const response = { id: `resp_${requests.length}`, model: 'demo', status: 'in_progress' };
      const events = requests.length === 1
        ? [{ type: 'response.created', response }, { type: 'response.output_item.added', output_index: 0, item: call },
          { type: 'response.function_call_arguments.delta', output_index: 0, delta: '{"zone": "UTC"}' },
          { type: 'response.completed', response: { ...response, status: 'completed' } }]
        : [{ type: 'response.created', response }, { type: 'response.output_text.delta', output_index: 0, delta: 'It is noon.' },
          { type: 'response.completed', response: { ...response, status: 'completed' } }];
      return route.fulfill({ status: 200, contentType: 'text/event-stream',
        body: events.map((event, number) => `data: ${JSON.stringify({ ...event, sequence_number: number })}\n\n`).join('') });
    });
    await setting(page, { Tools: TOOLS });
    await ask(page, 'What time is it?');
    assert.match(await (await answered(page)).innerText(), /Calls clock[^]*"zone": "UTC"/);
    await page.getByRole('textbox', { name: 'Result: clock' }).fill('12:00');
    await page.getByRole('button', { name: 'Send result' }).click();
    await page.locator('.prose').getByText('It is noon.').waitFor();
    assert.deepEqual(requests[1].input.slice(-2), [
      { type: 'function_call', call_id: 'call_1', name: 'clock', arguments: '{"zone": "UTC"}' },
      { type: 'function_call_output', call_id: 'call_1', output: '12:00' }]);
  }));

  it('takes text files, refuses others by name, and gauges the context', () => withPage({}, async (page) => {
    await ask(page, 'What is 1 + 2?');
    await answered(page);
    await page.locator('.composer input[type=file]').setInputFiles([
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('the answer is seven') },
      { name: 'photo.png', mimeType: 'image/png', buffer: Buffer.from([137, 80]) },
      { name: 'data.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 1, 255]) }]);
    await page.getByText('notes.txt').waitFor();
    assert.match(await page.getByRole('alert').innerText(), /photo\.png is an image.*data\.bin is not a text file/);
    await page.locator('.gauge').filter({ hasText: /^\d+ of 2,048 tokens$/ }).waitFor();
    await page.locator('.composer textarea').fill('word '.repeat(3000));
    await page.getByText(/do not fit in the context/).waitFor();
  }));

  it('lists, searches, renames, pins, exports, imports and deletes conversations', () => withPage({}, async (page) => {
    await script(page, 'A word about geysers.', 'Another about lava.');
    await page.route('**/v1/responses/*', (route) => route.fulfill({ status: 200, contentType: 'application/json', body: '{}' })); // deletions
    await ask(page, 'First question');
    await answered(page);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'New chat' }).click();
    await ask(page, 'Second question');
    await answered(page);
    const list = page.locator('.conversations');
    await list.getByRole('button', { name: 'Second question', exact: true }).waitFor();
    await page.getByRole('searchbox', { name: 'Search' }).fill('GEYSERS');
    await list.getByRole('button', { name: 'Second question', exact: true }).waitFor({ state: 'detached' });
    assert.equal(await list.locator('.open').count(), 1);
    await page.getByRole('searchbox', { name: 'Search' }).fill('');
    const menu = async (title, item) => {
      await list.getByRole('button', { name: `Menu of ${title}` }).click();
      await page.getByRole('dialog').getByRole('button', { name: item, exact: true }).click();
    };
    await menu('First question', 'Rename');
    await page.getByRole('textbox', { name: 'Name of the conversation' }).fill('Geology');
    await page.keyboard.press('Enter');
    await menu('Geology', 'Pin');
    await list.getByRole('heading', { name: 'Pinned' }).waitFor();
    const download = page.waitForEvent('download');
    await menu('Geology', 'Export');
    const file = await (await download).path();
    assert.equal(JSON.parse(readFileSync(file, 'utf8')).conversations[0].title, 'Geology');
    await menu('Geology', 'Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await list.getByRole('button', { name: 'Geology', exact: true }).waitFor({ state: 'detached' });
    await page.locator('.side input[type=file]').setInputFiles(file);
    await page.getByText('1 conversation imported.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await list.getByRole('button', { name: 'Geology', exact: true }).click();
    await page.locator('.prose').getByText('A word about geysers.').waitFor();
    await page.locator('.side input[type=file]').setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('{"format": 1}') });
    await page.getByText('This file is not an export of conversations.').waitFor();
  }));

  it('is used by keyboard', () => withPage({}, async (page) => {
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'TEXTAREA');
    await page.keyboard.type('one');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('two');
    assert.equal(await page.locator('.composer textarea').inputValue(), 'one\ntwo');
    await page.locator('.composer textarea').fill('');
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('/');
    assert.equal(await page.evaluate(() => document.activeElement.type), 'search');
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('?');
    await page.getByRole('heading', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('m');
    await page.getByRole('heading', { name: 'Models' }).waitFor();
    await page.keyboard.press('n');
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'TEXTAREA');
  }));
});
