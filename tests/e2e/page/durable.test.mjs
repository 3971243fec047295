// Answers that outlive the page: a closed tab, a second device, two tabs, a server that is killed and started again.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answered, ask, extendRequests, fixture, openPage } from './support.mjs';

const LONG = { ignore_eos: true, max_output_tokens: 700, temperature: 1.5 };

describe('answers that outlive the page', () => {
  const on = fixture();

  const textOf = (page) => page.evaluate(async () => {
    const database = await new Promise((resolve) => { indexedDB.open('etna').onsuccess = (event) => resolve(event.target.result); });
    const all = await new Promise((resolve) => { database.transaction('conversations').objectStore('conversations').getAll().onsuccess = (event) => resolve(event.target.result); });
    database.close();
    return Object.values(all[0].nodes).find((node) => node.role === 'assistant');
  });

  /** Asks for a long answer, and returns when its text has begun. */
  async function beginLong(page, members = LONG) {
    await extendRequests(page, members);
    await ask(page, 'Tell me a story.');
    await page.locator('.message.assistant .prose').last().filter({ hasText: /\S{3}/ }).waitFor();
  }

  /** The answer as the page kept it is the server's, byte for byte. */
  async function checkWhole(page) {
    await page.waitForFunction(() => document.querySelector('.message.assistant')?.getAttribute('aria-busy') === 'false');
    await page.waitForTimeout(300);
    const node = await textOf(page);
    const response = await on.server.ask(`v1/responses/${node.response}`);
    assert.equal(response.status, 'incomplete'); // it ends at its limit of tokens
    assert.equal(node.text, response.output_text);
    assert.ok(node.text.length > 300, node.text);
    return node;
  }

  it('goes on when the tab is closed', async () => {
    const { page, context } = await openPage(on.browser, on.server.address);
    await beginLong(page);
    const hash = new URL(page.url()).hash;
    await page.close();
    const { page: again, problems } = await openPage(on.browser, on.server.address, { context, hash });
    await checkWhole(again);
    assert.deepEqual(problems, []);
    await context.close();
  });

  it('goes on while other views and chats are shown', async () => {
    const { page, context } = await openPage(on.browser, on.server.address);
    await beginLong(page);
    const { hash } = new URL(page.url());
    for (const other of ['#/models', '#/new']) {
      await page.evaluate((to) => { location.hash = to; }, other);
      await page.waitForTimeout(200);
      await page.evaluate((to) => { location.hash = to; }, hash);
      await page.locator('.message.assistant .prose').last().filter({ hasText: /\S{3}/ }).waitFor();
    }
    await checkWhole(page);
    await context.close();
  });

  it('does not come back when its conversation is deleted while it streams', async () => {
    const { page, context } = await openPage(on.browser, on.server.address);
    await beginLong(page);
    await page.locator('.conversations').getByRole('button', { name: /^Menu of/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Conversations appear here.').waitFor();
    await page.waitForTimeout(2500); // an answer is stored each second
    await page.reload();
    await page.getByText('Conversations appear here.').waitFor();
    await context.close();
  });

  it('leaves room for others when many run', async () => {
    const { page, context } = await openPage(on.browser, on.server.address);
    for (let index = 0; index < 7; ++index) {
      await page.getByRole('button', { name: 'New chat' }).click();
      await beginLong(page, { ...LONG, max_output_tokens: 150 });
    }
    await page.evaluate(() => fetch('page/state')); // six connections are all that a browser has
    await page.locator('.conversations .running').first().waitFor();
    await page.waitForFunction(() => document.querySelectorAll('.conversations .running').length === 0, null, { timeout: 100_000 });
    await context.close();
  });

  it('is stopped by a server that comes back', async () => {
    const { page, context } = await openPage(on.browser, on.server.address);
    await beginLong(page);
    await on.server.end('SIGKILL');
    await page.getByText('The server does not answer. The question is kept; trying again.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Stops when the server answers.').waitFor();
    await on.server.start();
    await page.getByText('Stopped.').waitFor();
    await context.close();
  });

  it('is followed by two tabs, of which one is closed', async () => {
    const { page, context } = await openPage(on.browser, on.server.address);
    await beginLong(page);
    const { page: other } = await openPage(on.browser, on.server.address, { context, hash: new URL(page.url()).hash });
    await other.locator('.message.assistant .prose').last().filter({ hasText: /\S{3}/ }).waitFor();
    await page.close();
    await checkWhole(other);
    await context.close();
  });

  it('is opened on a second device', async () => {
    const { page, context } = await openPage(on.browser, on.server.address);
    await beginLong(page);
    await page.getByRole('button', { name: 'Open elsewhere' }).click();
    const address = await page.getByRole('dialog').getByRole('textbox').inputValue();
    const { page: other, context: device } = await openPage(on.browser, on.server.address, { hash: new URL(address).hash });
    await other.getByText('Tell me a story.').first().waitFor();
    await checkWhole(other);
    await context.close();
    await device.close();
  });

  it('survives a server that is killed and started again, without a gap or a double', async () => {
    const { page, context } = await openPage(on.browser, on.server.address);
    await beginLong(page);
    await on.server.end('SIGKILL');
    const before = await page.locator('.message.assistant .prose').last().innerText();
    await page.getByText('The server does not answer. The question is kept; trying again.').waitFor();
    await on.server.start();
    const node = await checkWhole(page);
    const plain = (text) => text.trim().replace(/\s+/g, ' ').slice(0, 40); // before Markdown may change what is shown
    assert.ok(plain(node.text).startsWith(plain(before)), `${before}\n---\n${node.text}`);
    await context.close();
  });

  it('opens old chats without a server', async () => {
    const { page, context } = await openPage(on.browser, on.server.address);
    await ask(page, 'What is 20 + 3?');
    await answered(page);
    await page.evaluate(() => navigator.serviceWorker.ready);
    await page.waitForFunction(async () => {
      const names = await caches.keys();
      return names.length === 1 && (await (await caches.open(names[0])).keys()).some((request) => request.url.endsWith('/main.js'));
    });
    await on.server.end('SIGTERM');
    await page.reload();
    await page.getByText('The server does not answer. Old conversations can be read.').waitFor();
    assert.match(await page.locator('.message.assistant').innerText(), /23/);
    await on.server.start();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.locator('.offline').waitFor({ state: 'hidden' });
    await context.close();
  });
});
