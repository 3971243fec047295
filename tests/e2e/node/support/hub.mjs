// A hub of models with one repository: the HTTP that `etna pull` uses. Source: the Hugging Face hub's API.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

const REVISION = '0123456789abcdef0123456789abcdef01234567';

/** {url, stop}: serves `content` as the file `path` of hf.co/`repository`. */
export async function startHub(repository, path, content) {
  const sha256 = createHash('sha256').update(content).digest('hex');
  const entry = { type: 'file', path, size: content.length, oid: '0'.repeat(40), lfs: { oid: sha256, size: content.length, pointerSize: 134 } };
  const server = createServer((request, response) => {
    if (request.url.startsWith(`/api/models/${repository}/tree/`)) return response.end(JSON.stringify([entry]));
    if (!request.url.startsWith(`/${repository}/resolve/`)) return response.writeHead(404).end();
    const [, first, last] = /bytes=(\d+)-(\d+)/.exec(request.headers.range) ?? [null, '0', String(content.length - 1)];
    const part = content.subarray(Number(first), Number(last) + 1);
    response.writeHead(206, {
      'content-range': `bytes ${first}-${Number(first) + part.length - 1}/${content.length}`,
      'content-length': part.length,
      'x-repo-commit': REVISION,
      'x-linked-size': content.length,
      'x-linked-etag': `"${sha256}"`,
    });
    response.end(part);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${server.address().port}`, stop: () => server.close() };
}
