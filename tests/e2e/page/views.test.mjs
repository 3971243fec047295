// The views beside the chat: models, machine, requests.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { fixture, openPage } from './support.mjs';

const SYSTEM = 'You are a calculator that answers in words. '.repeat(4);
const BENCH = {
  device: 'a card', driver: 'a driver', etna: '0.2.0', model: { name: 'demo', format: 'Q8_0' },
};

describe('the views', () => {
  const on = fixture('--page-inspect', '--api', 'ollama');

  async function withView(name, work) {
    const { page, context, problems } = await openPage(on.browser, on.server.address, { hash: `#/${name}` });
    try {
      await work(page);
      assert.deepEqual(problems, []);
    } finally {
      await context.close();
    }
  }

  const complete = (content, more = {}) => on.server.ask('v1/chat/completions', { method: 'POST', headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo', max_tokens: 20, messages: [{ role: 'system', content: SYSTEM }, { role: 'user', content }], ...more }) });

  it('loads, pins, shows and unloads a model', () => withView('models', async (page) => {
    const button = (name) => page.getByRole('button', { name, exact: true });
    await button('Load demo').click();
    await button('Unload demo').waitFor();
    const { models } = await on.server.ask('page/state');
    assert.equal(models[0].state, 'loaded');
    assert.ok(models[0].memory_bytes > 0 && models[0].context_tokens === 2048);
    await button('Show demo').click();
    const shown = await page.getByRole('dialog').innerText();
    for (const part of ['qwen3', 'Template', 'Parameters']) assert.ok(shown.includes(part), shown);
    await page.keyboard.press('Escape');
    await button('Unload demo').click();
    await button('Load demo').waitFor();
    assert.equal((await on.server.ask('page/state')).models[0].state, 'unloaded');
    await page.getByRole('link', { name: /Chat/ }).first().click();
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
  }));

  it('pulls a model with progress, cancels, and goes on', () => withView('models', async (page) => {
    await page.evaluate(() => { // a download that stays at its half until it is cancelled
      const real = window.fetch;
      window.fetch = (address, options) => {
        if (address !== 'api/pull') return real(address, options);
        const line = (value) => new TextEncoder().encode(`${JSON.stringify(value)}\n`);
        const isAgain = window.wasPulled;
        window.wasPulled = true;
        return Promise.resolve(new Response(new ReadableStream({
          start(controller) {
            controller.enqueue(line({ status: 'pulling manifest' }));
            controller.enqueue(line({ status: 'pulling abc', total: 1e9, completed: 5e8 }));
            if (isAgain) {
              controller.enqueue(line({ status: 'success' }));
              return controller.close();
            }
            options.signal.addEventListener('abort', () => controller.error(new DOMException('', 'AbortError')));
          },
        }), { headers: { 'content-type': 'application/x-ndjson' } }));
      };
    });
    await page.getByLabel('Add a model').fill('qwen3.5:4b');
    await page.getByRole('button', { name: 'Pull', exact: true }).click();
    await page.getByText(/500 MB of 1 GB/).waitFor();
    await page.evaluate(() => { location.hash = '#/machine'; });
    await page.getByRole('heading', { name: 'Throughput' }).waitFor();
    await page.evaluate(() => { location.hash = '#/models'; });
    await page.getByText(/500 MB of 1 GB/).waitFor(); // it goes on while other views are shown
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Cancelled. Pull qwen3.5:4b again to continue from here.').waitFor();
    await page.getByLabel('Add a model').fill('qwen3.5:4b');
    await page.getByRole('button', { name: 'Pull', exact: true }).click();
    await page.getByText('qwen3.5:4b is ready.').waitFor();
  }));

  it('shows the machine: device, verdict, memory, throughput, the last request', async () => {
    await complete('What is 34 + 58?');
    await withView('machine', async (page) => {
      await page.getByText('kernels checked: passed').waitFor();
      for (const part of ['Weights', 'Cache', 'Other programs', 'Free', 'Prompts', 'Generation', 'Last request'])
        await page.getByText(part, { exact: true }).first().waitFor();
      const { devices, throughput } = await on.server.ask('page/state');
      assert.ok(devices[0].weights_bytes > 1e6 && devices[0].cache_bytes > 1e6 && devices[0].total_bytes > devices[0].free_bytes);
      assert.equal(throughput.prompt_tokens.length, 90);
      assert.ok(throughput.prompt_tokens.reduce((sum, one) => sum + one) > 20);
    });
  });

  it('lists requests with their tokens and errors, and shows a prompt with its cached part', async () => {
    await complete('Hello!');
    await complete('Hello! What is 34 + 58?');
    await complete('wrong', { temperature: 7 });
    await withView('requests', async (page) => {
      const { requests } = await on.server.ask('page/state');
      assert.equal(requests[0].status, 400);
      assert.ok(requests[1].cached_tokens > 0 && requests[1].prompt_tokens > requests[1].cached_tokens);
      await page.locator('.open-row').nth(1).click();
      await page.getByText('Hello! What is 34 + 58?').waitFor();
      await page.getByText(/\d+ of \d+ tokens were cached/).waitFor();
      await page.getByLabel('Errors only').check();
      const errors = requests.filter((one) => one.status >= 400).length;
      await page.waitForFunction((wanted) => [...document.querySelectorAll('.open-row')].filter((row) => row.checkVisibility()).length === wanted, errors);
      await page.getByLabel('Errors only').uncheck();
      await page.getByLabel('Filter requests').fill('no such model');
      await page.getByText('No request matches the filter.').waitFor();
    });
  });

  it('draws what etna bench measured', () => withView('machine', async (page) => {
    const measured = spawnSync(process.env.ETNA_TEST_EXECUTABLE, ['bench', 'demo', '-b', '1,2', '-c', '0,64', '-p', '32', '-n', '4', '--json'], { encoding: 'utf8' });
    assert.equal(measured.status, 0, measured.stderr);
    await page.locator('input[type=file]').last().setInputFiles({ name: 'bench.json', mimeType: 'application/json', buffer: Buffer.from(measured.stdout) });
    for (const title of ['Generation over depth', 'Generation over batch']) await page.getByText(title, { exact: true }).first().waitFor();
  }));

  it('refuses a file that is no measurement by name', () => withView('machine', async (page) => {
    await page.locator('input[type=file]').last().setInputFiles([
      { name: 'a.json', mimeType: 'application/json', buffer: Buffer.from('{') },
      { name: 'b.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify(BENCH)) }]);
    await page.getByText(/a\.json is not JSON/).waitFor();
    await page.getByText(/b\.json is not an output of etna bench --json/).waitFor();
  }));
});
