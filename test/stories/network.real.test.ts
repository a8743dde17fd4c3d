import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { type Server, createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { makeIdentity } from '../../src/mock-server/local-authority.ts';
import { type Program, program } from '../support/built-program.ts';
import { startProxy } from '../support/proxy-server.ts';

const { ca, cert, key } = makeIdentity(Date.now(), (count) => randomBytes(count));
let server: Server;
let port = 0;
let opsctl: Program;
beforeAll(async () => {
  server = createServer(
    { cert, key },
    (_, response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end('[{"id":1,"name":"one"}]'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => void server.close());
beforeEach(() => {
  opsctl = program({ OPSCTL_TRACKER_TOKEN: 'very-secret-1', OPSCTL_TIMEOUT: '5s' });
  writeFileSync(join(opsctl.home, 'ca.pem'), ca);
});
const list = (env: Record<string, string>) =>
  opsctl.run(['tracker', 'labels', 'list', '-o', 'name'], {
    env: { OPSCTL_TRACKER_URL: `https://localhost:${port}`, ...env },
  });

test('a company authority is rejected with a hint, then trusted by either setting', async () => {
  const refused = await list({});
  expect(refused).toMatchObject({ code: 11, stdout: '' });
  expect(refused.stderr).toContain('NODE_EXTRA_CA_CERTS');
  expect(await list({ NODE_EXTRA_CA_CERTS: join(opsctl.home, 'ca.pem') })).toMatchObject({
    code: 0,
    stdout: 'one\n',
  });
  expect(await list({ OPSCTL_CA_FILE: join(opsctl.home, 'ca.pem') })).toMatchObject({
    code: 0,
    stdout: 'one\n',
  });
  expect(await list({ OPSCTL_CA_FILE: 'ca.pem' })).toMatchObject({ code: 0, stdout: 'one\n' });
  expect(await list({ OPSCTL_CA_FILE: 'missing.pem' })).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('missing.pem does not exist'),
  });
});

test('a proxy carries the tunnel, the certificate is still verified, and the proxy does not see the request', async () => {
  const proxy = await startProxy(port);
  const env = {
    OPSCTL_TRACKER_URL: 'https://tracker.test',
    HTTPS_PROXY: proxy.url,
    OPSCTL_CA_FILE: join(opsctl.home, 'ca.pem'),
  };
  const { code, stderr } = await list(env);
  expect(code, stderr).toBe(11);
  expect(stderr).toContain('tracker.test');
  expect(new Set(proxy.seen)).toEqual(new Set(['CONNECT tracker.test:443']));
  expect((await list({ ...env, NO_PROXY: 'tracker.test' })).code).toBe(11);
  expect(new Set(proxy.seen).size).toBe(1);
  await proxy.close();
});

test('a missing proxy and a rejecting proxy are named', async () => {
  const proxy = await startProxy(port, { refuses: true });
  const refused = await list({ OPSCTL_TRACKER_URL: 'https://tracker.test', HTTPS_PROXY: proxy.url });
  expect(refused).toMatchObject({ code: 11, stderr: expect.stringContaining('HTTPS_PROXY') });
  await proxy.close();
  expect((await list({ OPSCTL_TRACKER_URL: 'https://tracker.test', HTTPS_PROXY: proxy.url })).code).toBe(11);
});
