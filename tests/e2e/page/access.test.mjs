// Keys, headers, and the options of the server that are about its page.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { answered, ask, extendRequests, launchBrowser, openPage, Server } from './support.mjs';

const KEY = 'the-right-key';

async function withServer(options, work) {
  const server = await new Server(...options).start();
  const browser = await launchBrowser();
  try {
    await work(server, browser);
  } finally {
    await browser.close();
    await server.stop();
  }
}

describe('access to the page', () => {
  it('asks for a key, and keeps it for the tab only', () => withServer(['--api-key', KEY], async (server, browser) => {
    const { page, context } = await openPage(browser, server.address);
    const field = page.getByRole('dialog').getByLabel('Key');
    await field.fill('wrong');
    await page.keyboard.press('Enter');
    await field.filter({ visible: true }).waitFor(); // asked again
    await field.fill(KEY);
    await page.keyboard.press('Enter');
    await ask(page, 'What is 30 + 4?');
    assert.match(await (await answered(page)).innerText(), /34/);
    assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes('the-right-key')), false);
    await page.reload();
    await page.locator('.message.assistant').waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
    const { page: other } = await openPage(browser, server.address, { context });
    await other.getByRole('dialog').getByLabel('Key').waitFor();
    await context.close();
  }));

  it('is served with a policy that allows no inline scripts and no other hosts', () => withServer([], async (server) => {
    const reply = await fetch(server.address, { headers: { accept: 'text/html' } });
    const policy = reply.headers.get('content-security-policy');
    for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"])
      assert.ok(policy.includes(rule), policy);
    assert.equal(/unsafe|\*|https?:/.test(policy), false, policy);
    assert.equal(reply.headers.get('x-content-type-options'), 'nosniff');
    const html = await reply.text();
    const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]);
    assert.ok(files.length >= 6, html);
    for (const file of files) {
      const got = await fetch(new URL(file, server.address));
      assert.equal(got.status, 200, file);
      if (file.startsWith('page/')) assert.match(got.headers.get('cache-control'), /immutable/, file);
    }
    const again = await fetch(server.address, { headers: { accept: 'text/html', 'if-none-match': reply.headers.get('etag') } });
    assert.equal(again.status, 304);
  }));

  it('answers and stops without a store', () => withServer(['--store', 'none'], async (server, browser) => {
    const { page, context, problems } = await openPage(browser, server.address);
    await page.waitForFunction(async () => (await (await fetch('page/state')).json()).stores_responses === false);
    await page.locator('.bar select option').first().waitFor({ state: 'attached' });
    await ask(page, 'What is 30 + 4?');
    assert.match(await (await answered(page)).innerText(), /34/);
    await extendRequests(page, { ignore_eos: true, max_output_tokens: 1500 });
    await ask(page, 'Count to seven.');
    await page.locator('.message.assistant .prose').last().filter({ hasText: /\S/ }).waitFor();
    await page.keyboard.press('Escape');
    assert.match(await (await answered(page)).innerText(), /Stopped\./);
    assert.deepEqual(problems, []);
    await context.close();
  }));

  it('is under 150 KB compressed', () => withServer([], async (server, browser) => {
    let bytes = 0;
    const context = await browser.newContext({ serviceWorkers: 'block' });
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    session.on('Network.loadingFinished', (event) => { bytes += event.encodedDataLength; });
    await page.goto(server.address, { waitUntil: 'networkidle' });
    assert.ok(bytes > 20_000 && bytes < 170_000, `${bytes} bytes with heads and the first state`);
    await context.close();
  }));

  it('is absent with --no-page', () => withServer(['--no-page'], async (server) => {
    const front = await fetch(server.address, { headers: { accept: 'text/html' } });
    assert.equal(front.status, 200);
    assert.equal((await front.text()).includes('main.js'), false);
    assert.equal((await fetch(new URL('page/state', server.address))).status, 404);
  }));

  it('keeps prompts only with --page-inspect', async () => {
    const ask1 = (server) => server.ask('v1/chat/completions', { method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'a private question' }], max_tokens: 1 }) });
    await withServer([], async (server) => {
      await ask1(server);
      const { requests } = await server.ask('page/state');
      const opened = await (await fetch(new URL(`page/requests/${requests[0].id}`, server.address))).text();
      assert.equal(opened.includes('private question'), false);
    });
    await withServer(['--page-inspect'], async (server) => {
      await ask1(server);
      const { requests } = await server.ask('page/state');
      assert.match((await server.ask(`page/requests/${requests[0].id}`)).prompt, /a private question/);
    });
  });

  it('does not answer a request for another host', () => withServer([], async (server) => {
    const socket = connect(server.port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: attacker.example\r\nConnection: close\r\n\r\n');
    const [head] = await once(socket, 'data');
    assert.match(String(head), /^HTTP\/1\.1 403/);
    socket.destroy();
  }));
});
