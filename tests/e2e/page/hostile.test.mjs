// What a model says is text: markup, links, controls and sizes in it do nothing. And what other pages may do: nothing.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { describe, it } from 'node:test';
import { answered, ask, fixture, isLong, openPage, script, speak } from './support.mjs';

const MARKUP = `<img src=x onerror="hacked()"> <script>hacked()</script> <svg onload="hacked()"><style>* { display: none }</style>

<meta http-equiv="refresh" content="0; url=https://example.org/">

<iframe src="https://example.org/"></iframe><form action="https://example.org/"><button>go</button></form>

[one](javascript:hacked()) [two](data:text/html,<script>hacked()</script>) ![three](https://example.org/pixel.png) <javascript:hacked()>
[four](JaVaScRiPt:hacked()) [five](https://example.org/?a=1&b=2 "title\\" onmouseover=hacked()")

\`\`\`html"><img src=x onerror=hacked()>
<b onclick="hacked()">bold</b>
\`\`\`

| a | b |
|---|---|
| <img src=x onerror=hacked()> | ok |
`;
const BIDI = 'safe \u202Eevil\u202C \u2066x\u2069 text `\u202Ecode`';
const FORBIDDEN = 'img, script, svg, style, meta, iframe, form, object, embed, link, base, [onerror], [onload], [onclick]';

describe('hostile answers', () => {
  const on = fixture();

  async function show(text, work, options) {
    const { page, context, problems } = await openPage(on.browser, on.server.address);
    const foreign = [];
    page.on('request', (request) => { if (!request.url().startsWith(on.server.address) && !/^(data|blob):/.test(request.url())) foreign.push(request.url()); });
    await page.evaluate(() => { window.hacked = () => { window.wasHacked = true; }; });
    await script(page, [text, options ?? {}]);
    await ask(page, 'Attack!');
    const answer = await answered(page);
    await work(page, answer);
    assert.equal(await page.evaluate(() => window.wasHacked), undefined);
    assert.equal(await answer.locator('.prose').last().locator(FORBIDDEN).count(), 0);
    assert.deepEqual(foreign, []);
    assert.deepEqual(problems, []);
    await context.close();
  }

  it('shows markup as text, and links of three schemes only', () => show(MARKUP, async (page, answer) => {
    const prose = answer.locator('.prose').last();
    assert.match(await prose.innerText(), /<img src=x onerror="hacked\(\)">/);
    assert.deepEqual(await prose.locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href'))),
      ['https://example.org/pixel.png', 'https://example.org/?a=1&b=2']);
    for (const target of await prose.locator('a').evaluateAll((links) => links.map((link) => link.rel))) assert.match(target, /noopener noreferrer/);
  }, { reasoning: MARKUP }));

  it('shows the controls that reorder text', () => show(BIDI, async (page, answer) => {
    assert.equal(await answer.locator('.prose').last().innerText(), 'safe [U+202E]evil[U+202C] [U+2066]x[U+2069] text [U+202E]code');
  }));

  it('shows a megabyte in one line', () => show('x'.repeat(1_000_000), async (page, answer) => {
    const prose = answer.locator('.prose').last();
    assert.equal(await prose.evaluate((element) => element.textContent.length), 1_000_000);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
  }, { size: 20_000 }));

  it('shows a table of 100,000 cells in parts', () => show(`|${'a|'.repeat(10)}\n|${'-|'.repeat(10)}\n${`|${'1|'.repeat(10)}\n`.repeat(10_000)}`, async (page, answer) => {
    assert.ok(await answer.locator('.prose').last().evaluate((element) => element.querySelectorAll('*').length) < 3000);
  }, { size: 20_000 }));

  it('shows deep nesting and many marks', () => show(`${'> '.repeat(500)}deep\n\n${'- '.repeat(300)}list\n\n${'*'.repeat(5000)}\n\n${'['.repeat(5000)}\n\n${'_a '.repeat(3000)}`, async (page, answer) => {
    assert.match(await answer.innerText(), /deep/);
  }, { size: 2000 }));

  it('shows while it grows what it shows at once', async () => {
    const text = ['# Title', 'A [link][1] and `code`.', '```make\nall:\n\tcc -o a a.c\n\t\t\t\t\tdeep\n```', 'After the block ALPHA.', '[1]: https://example.org/one',
      '- one\n- two\n\n- three', '\\(a_1 * b_2\\) and $$x_i * y_i$$ cost $5 or $6.', '| a | b |\n|---|---|\n| 1 | 2 |', '> quoted\n> twice', '*a '.repeat(2000), 'End.'].join('\n\n');
    const shown = [];
    for (const [size, delay_ms] of [[text.length, 0], [7, 0], [250, 4]]) {
      const { page, context, problems } = await openPage(on.browser, on.server.address);
      await speak(page, text, { size, delay_ms });
      await ask(page, 'Go');
      const prose = (await answered(page)).locator('.prose').last();
      shown.push(await prose.innerText());
      assert.equal(await prose.locator('a').getAttribute('href'), 'https://example.org/one');
      assert.equal(await prose.locator('pre').innerText(), 'all:\n\tcc -o a a.c\n\t\t\t\t\tdeep');
      assert.match(shown.at(-1), /\\\(a_1 \* b_2\\\) and \$\$x_i \* y_i\$\$ cost \$5 or \$6\./);
      assert.deepEqual(problems, []);
      await context.close();
    }
    assert.equal(shown[1], shown[0]);
    assert.equal(shown[2], shown[0]);
  });

  it('neither answers nor obeys a page of another origin', async () => {
    const other = http.createServer((_, reply) => { reply.setHeader('content-type', 'text/html'); reply.end('<!doctype html><title>other</title>'); }).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const context = await on.browser.newContext();
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${other.address().port}/`);
    const outcome = await page.evaluate(async (address) => {
      const attempt = (path, options) => fetch(address + path, options).then((reply) => reply.status, () => 'blocked');
      const frame = document.createElement('iframe');
      frame.src = address;
      document.body.append(frame);
      await new Promise((resolve) => { frame.onload = resolve; });
      let isReadable = false;
      try { isReadable = frame.contentDocument !== null; } catch { /* another origin */ }
      return { read: await attempt('page/state'), models: await attempt('v1/models'), isReadable,
        post: await attempt('v1/responses', { method: 'POST', body: '{"input": "x"}', headers: { 'content-type': 'text/plain' } }),
        json: await attempt('v1/responses', { method: 'POST', body: '{"input": "x"}', headers: { 'content-type': 'application/json' } }) };
    }, on.server.address);
    assert.deepEqual(outcome, { read: 'blocked', models: 'blocked', isReadable: false, post: 'blocked', json: 'blocked' });
    const { requests } = await on.server.ask('page/state');
    assert.ok(requests.every((request) => request.prompt_tokens !== null || request.status !== 200), 'a foreign post was answered');
    await context.close();
    other.close();
  });

  it('streams 5,000 tokens without a frame over 50 ms', { skip: !isLong && 'needs a machine of its own: --long' }, async () => {
    const { page, context } = await openPage(on.browser, on.server.address);
    const words = Array.from({ length: 5000 }, (_, index) => (index % 40 === 39 ? `word${index}.\n\n` : `word${index} `));
    await page.evaluate(() => {
      window.longest = 0;
      new PerformanceObserver((list) => { for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration); }).observe({ type: 'longtask', buffered: false });
    });
    await speak(page, words.join(''), { size: 8, delay_ms: 2 });
    await ask(page, 'Go');
    await answered(page);
    assert.ok(await page.evaluate(() => window.longest) <= 50, `a task took ${await page.evaluate(() => window.longest)} ms`);
    await context.close();
  });
});
