import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Surrounding, answering, surrounding } from '../commands/labels/around.ts';

let at: Surrounding;
beforeEach(async () => {
  at = await surrounding({ seed: 'demo' });
});
afterEach(() => at.close());
const titles = () => readFile(join(at.directory, 'cache', 'mock', 'names', 'label-title'), 'utf8');

test('completion offers the titles of the last complete list, not of a partial one', async () => {
  await at.run('list', '--published-only');
  await expect(titles()).rejects.toThrow('ENOENT');
  await at.run('list', '--page-size', '3');
  expect((await titles()).split('\n').slice(0, 3)).toEqual(['Contract', 'Sensitivity', 'Project phase']);
  await at.server.send('POST', '/labels', { labelType: 'SHARED', properties: { title: 'Brand new' } });
  await at.run('get', 'Project phase');
  expect(await titles()).toContain('\nBrand new\n');
});

test('a title that looks like an ID is requested once, and the prompt names the label', async () => {
  const id = await at.id('Retention');
  const questions: string[] = [];
  const asked = answering({
    confirm: (question) => {
      questions.push(question);
      return true;
    },
  });
  expect((await at.runOn(asked, 'delete', 'Retention')).code).toBe(0);
  expect(questions).toEqual([expect.stringContaining(`labels/${id}`)]);
  expect((await at.run('delete', 'Nosuchlabel', '--yes')).stderr).toContain('label not found: "Nosuchlabel"');
});

test('a missing part is not mistaken for a missing label', async () => {
  const id = await at.id('Contract');
  const { code, stderr } = await at.run('revisions', 'locks', 'list', id, '77');
  expect([code, stderr]).toEqual([6, expect.stringContaining(`labels/${id}@77`)]);
});

test('a service that returns 403 for an unknown ID still finds the title', async () => {
  const label = {
    name: 'labels/abc123',
    id: 'abc123',
    revisionId: '1',
    labelType: 'SHARED',
    properties: { title: 'Retention' },
  };
  const refusal = {
    error: {
      code: 403,
      message: 'The caller does not have permission',
      status: 'PERMISSION_DENIED',
      details: [],
    },
  };
  const answer = ({ url = '' }: IncomingMessage): [number, unknown] =>
    url.startsWith('/v2beta/labels?')
      ? [200, { labels: [label] }]
      : url.startsWith('/v2beta/labels/abc123')
        ? [200, label]
        : [403, refusal];
  const service = createServer((request, reply) => {
    const [status, body] = answer(request);
    reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((done) => service.listen(0, '127.0.0.1', done));
  try {
    const env = { OPSCTL_LABELS_URL: `http://127.0.0.1:${(service.address() as AddressInfo).port}` };
    expect((await at.runWith(env, 'get', 'Retention', '-o', 'json')).json()).toEqual(label);
    expect(await at.runWith(env, 'get', 'Elsewhere')).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('does not have permission'),
    });
  } finally {
    service.close();
  }
});
