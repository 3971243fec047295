// How the page looks: screenshots of each view at three widths, light, dark and right to left; axe's rules; no view is wider
// than its window.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { answered, ask, fixture, isLong, openPage, pictures, script } from './support.mjs';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const ANSWER = `Use an explicit stack of ranges:

\`\`\`python
def sort(values):
    """Sorts in place."""
    stack = [(0, len(values) - 1)]
    while stack:  # no recursion
        low, high = stack.pop()
\`\`\`

| case | comparisons | memory |
|:--|--:|--:|
| best | n log n | log n |
| worst | n² / 2 | n |

1. Push the whole range.
2. Pop one, **partition** it, push both parts.`;
const WIDTHS = { 360: 740, 1280: 860, 3840: 2000 };
const LOOKS = [['light', 'ltr'], ['dark', 'ltr'], ['light', 'rtl']];
const SHORT = ['360 light rtl', '1280 dark ltr', '3840 light ltr']; // all nine with --long
const VIEWS = ['new', 'chat', 'settings', 'models', 'machine', 'requests'];

describe('the looks of the page', () => {
  const on = fixture();

  before(async () => {
    await on.server.ask('v1/chat/completions', { method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'What is 1 + 2?' }] }) }); // a loaded model, and a request to list
  });

  async function show(page, view, direction) {
    if (view === 'chat') {
      await script(page, [ANSWER, { reasoning: 'A stack of ranges will do.' }]);
      await ask(page, direction === 'rtl' ? 'كيف أرتب قائمة دون استدعاء ذاتي؟' : 'How do I sort a list without recursion?');
      await answered(page);
    } else if (view === 'settings') {
      await page.getByRole('button', { name: 'Settings' }).click();
      await page.getByRole('dialog').waitFor();
    } else if (view !== 'new') {
      await page.evaluate((name) => { location.hash = `#/${name}`; }, view);
      await page.locator('.page').waitFor();
    }
    await page.waitForTimeout(200); // motion ends within 150 ms
  }

  for (const [width, height] of Object.entries(WIDTHS)) {
    for (const [colorScheme, direction] of LOOKS) {
      if (!isLong && !SHORT.includes(`${width} ${colorScheme} ${direction}`)) continue;
      it(`${width} px, ${colorScheme}, ${direction}`, async () => {
        for (const view of VIEWS) {
          const { page, context, problems } = await openPage(on.browser, on.server.address, { width: Number(width), height, colorScheme });
          await page.evaluate((dir) => { document.dir = dir; }, direction);
          await show(page, view, direction);
          await page.screenshot({ path: join(pictures, `${view}-${width}-${colorScheme}-${direction}.png`) });
          assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false, `${view} is wider than its window`);
          assert.deepEqual(problems, [], view);
          await context.close();
        }
      });
    }
  }

  it('breaks none of axe’s rules', async () => {
    for (const colorScheme of ['light', 'dark']) {
      for (const view of VIEWS) {
        const context = await on.browser.newContext({ viewport: { width: 1280, height: 860 }, colorScheme });
        await context.addInitScript({ path: AXE });
        const { page } = await openPage(on.browser, on.server.address, { context });
        await show(page, view, 'ltr');
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
        assert.deepEqual(violations.map((one) => `${view}, ${colorScheme}: ${one.id}: ${one.nodes.map((node) => node.html).join(' ')}`), []);
        await context.close();
      }
    }
  });

  it('paints first within 200 ms, and its memory is flat', { skip: !isLong && 'needs a machine of its own: --long' }, async () => {
    const { page, context } = await openPage(on.browser, on.server.address);
    await page.reload();
    const first = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
    assert.ok(first < 200, `${first} ms`);
    await script(page, ANSWER);
    const session = await context.newCDPSession(page);
    const heap = async () => {
      await session.send('HeapProfiler.collectGarbage');
      return (await session.send('Runtime.getHeapUsage')).usedSize;
    };
    const sizes = [];
    for (let round = 0; round < 100; ++round) {
      await page.getByRole('button', { name: 'New chat' }).click();
      await ask(page, `Question ${round}`);
      await answered(page);
      if (round % 20 === 19) sizes.push(await heap());
    }
    assert.ok(sizes.at(-1) < 1.3 * sizes[0], sizes.join(', '));
    await context.close();
  });
});
