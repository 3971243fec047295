// The list of models, through OpenAI's SDK.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import OpenAI from 'openai';
import { all, MODEL, openaiOfSuite } from './support/openai.mjs';

describe('models', () => {
  const { client } = openaiOfSuite();

  it('are listed', async () => {
    assert.deepEqual((await all(client.models.list())).map((model) => model.id), [MODEL]);
  });

  it('are shown', async () => {
    const model = await client.models.retrieve(MODEL);
    assert.equal(model.id, MODEL);
    assert.ok(model.created > 0 && model.created <= Date.now() / 1000);
  });

  it('that are unknown are a 404', async () => {
    await assert.rejects(client.models.retrieve('gpt-9'), (error) => error instanceof OpenAI.NotFoundError && error.code === 'model_not_found');
  });
});
