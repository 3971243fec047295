// A server, a browser, and answers that no model gives.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { chromium } from 'playwright-core';

export const isLong = process.env.ETNA_TEST_LONG === '1';
export const PATIENCE_MS = 120_000;

const KEPT = ['PATH', 'MESA_SHADER_CACHE_DIR', 'VK_DRIVER_FILES', 'VK_ICD_FILENAMES', 'XDG_RUNTIME_DIR'];

function given(name) {
  if (!process.env[name]) throw new Error(`${name} is not set; run these tests by tests/e2e/page_test.py ETNA`);
  return process.env[name];
}

/** Where screenshots go. */
export const pictures = given('ETNA_TEST_PICTURES');
mkdirSync(pictures, { recursive: true });

async function freePort() {
  const listener = net.createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  listener.close();
  await once(listener, 'close');
  return port;
}

/** `etna serve demo` with a home and a store of its own; it can be killed and started again at the same address. */
export class Server {
  #options;

  constructor(...options) {
    this.#options = options;
    this.home = mkdtempSync(join(tmpdir(), 'etna-page-'));
  }

  async start() {
    this.port ??= await freePort();
    const env = { HOME: this.home, ...Object.fromEntries(KEPT.filter((name) => process.env[name]).map((name) => [name, process.env[name]])) };
    this.process = spawn(given('ETNA_TEST_EXECUTABLE'), ['serve', 'demo', '--port', String(this.port), ...this.#options],
      { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.log = '';
    this.process.stderr.on('data', (part) => { this.log += part; });
    this.ended = once(this.process, 'exit');
    await Promise.race([once(this.process.stdout, 'data'), this.ended.then(() => { throw new Error(`the server ended: ${this.log}`); })]);
    return this;
  }

  get address() {
    return `http://127.0.0.1:${this.port}/`;
  }

  async ask(path, options) {
    return (await fetch(new URL(path, this.address), options)).json();
  }

  async end(signal) {
    this.process.kill(signal);
    await this.ended;
  }

  async stop() {
    if (this.process.exitCode === null && this.process.signalCode === null) await this.end('SIGTERM');
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** A server and a browser for the tests of a `describe`: {server, browser}, set before the first of them. */
export function fixture(...options) {
  const made = {};
  before(async () => {
    made.server = await new Server(...options).start();
    made.browser = await launchBrowser();
  });
  after(async () => {
    await made.browser.close();
    await made.server.stop();
  });
  return made;
}

export async function launchBrowser() {
  const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
  if (!executablePath) throw new Error('there is no Chromium; scripts/install-packages all-tests installs it');
  return chromium.launch({ executablePath, args: process.getuid() === 0 ? ['--no-sandbox'] : [] });
}

/** Opens the page: {page, context, problems}. `problems` gets what the console and the page report as errors. */
export async function openPage(browser, address, { width = 1280, height = 860, colorScheme = 'light', hash = '', context } = {}) {
  context ??= await browser.newContext({ viewport: { width, height }, colorScheme, permissions: ['clipboard-read', 'clipboard-write'] });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const problems = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => { if (message.type() === 'error') problems.push(message.text()); });
  await page.goto(address + hash);
  await page.locator('.frame').waitFor();
  return { page, context, problems };
}

/** Types a question and sends it. */
export async function ask(page, text) {
  await page.locator('.composer textarea').fill(text);
  await page.keyboard.press('Enter');
}

/** The newest answer, once it has ended. */
export async function answered(page) {
  const answer = page.locator('.message.assistant').last();
  await answer.and(page.locator('[aria-busy="false"]')).waitFor();
  return answer;
}

/** Adds members to the requests for answers. */
export function extendRequests(page, members) {
  return page.route('**/v1/responses', (route) =>
    route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), ...members }) }));
}

function frame(event, number) {
  return `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: number })}\n\n`;
}

/** The stream of a response that says `text`, `size` characters an event. */
export function scripted(text, { reasoning = '', size = 40, id = 'resp_scripted' } = {}) {
  const response = { id, object: 'response', model: 'demo', status: 'in_progress', created_at: 1, output: [], error: null, incomplete_details: null };
  const events = [{ type: 'response.created', response }];
  if (reasoning) events.push({ type: 'response.reasoning_text.delta', output_index: 0, delta: reasoning });
  for (let at = 0; at < text.length; at += size) events.push({ type: 'response.output_text.delta', output_index: 1, delta: text.slice(at, at + size) });
  const usage = { input_tokens: 2152, input_tokens_details: { cached_tokens: 1840 }, output_tokens: 412, output_tokens_details: { reasoning_tokens: 20 } };
  const etna = { timings: { load_ms: 1, queue_ms: 4, prompt_ms: 205, generation_ms: 9800 } };
  events.push({ type: 'response.completed', response: { ...response, status: 'completed', usage, etna } });
  return events.map(frame).join('') + 'data: [DONE]\n\n';
}

/** Answers the page's questions with these texts, in turn. */
export function script(page, ...texts) {
  let next = 0;
  return page.route('**/v1/responses', (route) => {
    const given = texts[Math.min(next++, texts.length - 1)];
    const [text, options] = Array.isArray(given) ? given : [given, {}];
    return route.fulfill({ status: 200, contentType: 'text/event-stream', body: scripted(text, { id: `resp_scripted${next}`, ...options }) });
  });
}

/** Answers the page's questions with this text, a piece every `delay_ms`, as a model would. */
export function speak(page, text, { size = 7, delay_ms = 4 } = {}) {
  return page.evaluate(([all, step, delay]) => {
    const real = window.fetch;
    let asked = 0;
    window.fetch = (address, options) => {
      if (address !== 'v1/responses') return real(address, options);
      const response = { id: `resp_spoken${++asked}`, model: 'demo', status: 'in_progress' };
      const pieces = [{ type: 'response.created', response }];
      for (let at = 0; at < all.length; at += step) pieces.push({ type: 'response.output_text.delta', output_index: 0, delta: all.slice(at, at + step) });
      pieces.push({ type: 'response.completed', response: { ...response, status: 'completed' } });
      let next = 0;
      return Promise.resolve(new Response(new ReadableStream({ async pull(controller) {
        await new Promise((resolve) => { setTimeout(resolve, delay); });
        if (next === pieces.length) return controller.close();
        controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify({ ...pieces[next], sequence_number: next })}\n\n`));
        next += 1;
      } }), { headers: { 'content-type': 'text/event-stream' } }));
    };
  }, [text, size, delay_ms]);
}
