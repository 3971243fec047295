// Embeddings of demo-embed, by OpenAI's SDK and by LangChain's.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { OpenAIEmbeddings } from '@langchain/openai';
import OpenAI, { BadRequestError } from 'openai';
import { startServerOf } from './support/server.mjs';

const MODEL = 'demo-embed';
const NOTES = ['I live in Oslo.', 'My lucky number is 73.', 'My dog is called Rex.', 'I was born in May.'];
const QUESTION = 'Which city do I live in?';
const WIDTH = 96;

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const length = (vector) => Math.sqrt(dot(vector, vector));
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-5, `${a} and ${b}`);

let server, client;
before(async () => {
  server = await startServerOf(MODEL);
  client = new OpenAI({ baseURL: `${server.address}/v1`, apiKey: 'any', maxRetries: 0 });
});
after(() => server.stop());

const embed = async (input, options = {}) => (await client.embeddings.create({ model: MODEL, input, ...options })).data;

describe("OpenAI's SDK", () => {
  it('gets embeddings of length one, in order, with their usage', async () => {
    const answer = await client.embeddings.create({ model: MODEL, input: NOTES });
    assert.equal(answer.model, MODEL);
    assert.deepEqual(answer.data.map(({ index }) => index), [0, 1, 2, 3]);
    for (const { embedding } of answer.data) {
      assert.equal(embedding.length, WIDTH);
      near(length(embedding), 1);
    }
    assert.ok(answer.usage.prompt_tokens > NOTES.length);
    assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens);
    const [alone] = await embed(NOTES[2]);
    alone.embedding.forEach((value, i) => near(value, answer.data[2].embedding[i]));
  });

  it('decodes base64, its default, to the numbers of the float format', async () => {
    const [byDefault] = await embed(QUESTION);
    const [numbers] = await embed(QUESTION, { encoding_format: 'float' });
    const [text] = await embed(QUESTION, { encoding_format: 'base64' });
    assert.deepEqual(byDefault.embedding, numbers.embedding.map(Math.fround));
    const bytes = Buffer.from(text.embedding, 'base64');
    assert.equal(bytes.length, 4 * WIDTH);
    byDefault.embedding.forEach((value, i) => assert.equal(bytes.readFloatLE(4 * i), value));
  });

  it('gets fewer dimensions, again of length one', async () => {
    const [whole] = await embed(QUESTION);
    const [short] = await embed(QUESTION, { dimensions: 32 });
    assert.equal(short.embedding.length, 32);
    near(length(short.embedding), 1);
    const head = whole.embedding.slice(0, 32);
    short.embedding.forEach((value, i) => near(value, head[i] / length(head)));
    await assert.rejects(embed(QUESTION, { dimensions: WIDTH + 1 }), (error) => error instanceof BadRequestError && error.param === 'dimensions');
  });

  it('finds the note that answers a question, and paraphrases nearer than other texts', async () => {
    const [question, ...notes] = (await embed([QUESTION, ...NOTES])).map(({ embedding }) => embedding);
    const scores = notes.map((note) => dot(question, note));
    assert.equal(scores.indexOf(Math.max(...scores)), 0, scores);
    const [a, b, c] = (await embed(['The red boat costs 30 euros.', 'You pay 30 euros for the red boat.', 'Anna sings in Paris.'])).map(({ embedding }) => embedding);
    assert.ok(dot(a, b) > dot(a, c) + 0.2);
  });
});

describe('scores', () => {
  const post = async (path, body) => {
    const reply = await fetch(server.address + path, { method: 'POST', body: JSON.stringify({ model: MODEL, ...body }) });
    return { status: reply.status, body: await reply.json() };
  };

  it('are the cosines of embeddings', async () => {
    const { status, body } = await post('/v1/score', { text_1: QUESTION, text_2: NOTES });
    assert.equal(status, 200);
    const [question, ...notes] = (await embed([QUESTION, ...NOTES])).map(({ embedding }) => embedding);
    body.data.forEach(({ index, score }) => near(score, dot(question, notes[index])));
    assert.equal(body.data.length, NOTES.length);
  });

  it('rank no documents without a reranker', async () => {
    for (const path of ['/v1/rerank', '/rerank', '/v2/rerank']) {
      const { status, body } = await post(path, { query: QUESTION, documents: NOTES });
      assert.equal(status, 400);
      assert.match(body.detail ?? body.message, /no head that ranks documents/);
    }
  });
});

describe("LangChain's OpenAIEmbeddings", () => {
  const langchain = (options = {}) => new OpenAIEmbeddings({ model: MODEL, apiKey: 'any', configuration: { baseURL: `${server.address}/v1` }, ...options });

  it('embeds documents and a query as the SDK does', async () => {
    const embeddings = langchain();
    const documents = await embeddings.embedDocuments(NOTES);
    const query = await embeddings.embedQuery(QUESTION);
    const direct = await embed([...NOTES, QUESTION]);
    [...documents, query].forEach((vector, row) => vector.forEach((value, i) => near(value, direct[row].embedding[i])));
    assert.equal((await langchain({ dimensions: 16 }).embedQuery(QUESTION)).length, 16);
  });

  it('finds the note for a question, in batches', async () => {
    const documents = await langchain({ batchSize: 2 }).embedDocuments(NOTES);
    const scores = async (text) => {
      const query = await langchain().embedQuery(text);
      return documents.map((document) => dot(query, document));
    };
    for (const [text, note] of [[QUESTION, 0], ['What is my lucky number?', 1], ['When is my birthday?', 3]]) {
      const found = await scores(text);
      assert.equal(found.indexOf(Math.max(...found)), note, `${text}: ${found}`);
    }
  });
});
