import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { outgoing } from '../../src/platform/node/network.ts';
import { plainHttpProblem, plainHttpWarning } from '../../src/core/external-url.ts';

const secret = { headers: { Authorization: 'Bearer x' } };
describe('secrets go over https only, except on loopback', () => {
  test.each([
    ['http://api.example/x', secret, true],
    ['http://0.0.0.0:2379/', secret, true],
    ['http://10.0.0.1/', { needsTls: true as const }, true],
    ['http://127.0.0.1.example/', secret, true],
    ['http://localhost.example/', secret, true],
    ['http://localhost./', secret, true],
    ['http://xlocalhost/', secret, true],
    ['http://[::ffff:127.0.0.1]/', secret, true],
    ['http://0/', secret, true],
    ['http://[::]/', secret, true],
    ['http://127.0.0.1.:1/', secret, false],
    ['http://127.1:1/', secret, false],
    ['http://2130706433:1/', secret, false],
    ['http://api.localhost:1/', secret, false],
    ['http://[::ffff:10.0.0.1]/', secret, true],
    ['http://api.example/x', { headers: { accept: 'x' } }, false],
    ['https://api.example/x', secret, false],
    ['http://127.0.0.1:1/', secret, false],
    ['http://[::1]:1/', secret, false],
    ['http://localhost:1/', { needsTls: true as const }, false],
  ])('%s', (url, request, isRefused) => {
    expect(plainHttpProblem(new URL(url), request, {}) !== undefined).toBe(isRefused);
  });
  test('one setting makes an exception for the listed hosts, with a warning', () => {
    const env = { OPSCTL_PLAIN_HTTP_HOSTS: 'store.example, 10.0.0.1:2379' };
    expect(plainHttpProblem(new URL('http://store.example:1/'), secret, env)).toBeUndefined();
    expect(plainHttpProblem(new URL('http://10.0.0.1:2379/'), secret, env)).toBeUndefined();
    expect(plainHttpProblem(new URL('http://10.0.0.1:2380/'), secret, env)).toContain(
      'OPSCTL_PLAIN_HTTP_HOSTS',
    );
    expect(plainHttpWarning(env)).toContain('store.example');
    expect(plainHttpWarning({})).toBeUndefined();
  });
  test('the network layer sends no secret over plain HTTP', async () => {
    const network = outgoing({});
    const sent = network.request({
      method: 'GET',
      url: 'http://0.0.0.0:9/',
      headers: { authorization: 'x' },
    });
    await expect(sent).rejects.toMatchObject({ code: 'PLAIN_HTTP', sent: false });
    await network.close();
  });
});

/** Files that open connections: [connections, calls of connectHost]. Another number needs a reason here. */
const connections: Readonly<Record<string, readonly [number, number]>> = {
  'platform/node/http1.ts': [2, 2],
  'platform/node/http2.ts': [1, 1],
  // Both agents share one target.
  'platform/node/transport.ts': [2, 1],
  'platform/node/ports.ts': [2, 2],
  // Only whether the own server listens; sends nothing.
  'platform/node/network.ts': [1, 0],
};
test('every connection of the network layer uses the host of connectHost', () => {
  const root = new URL('../../src/', import.meta.url).pathname;
  const opens =
    /\b(?:net|tls|http2|https?)\s*\.(?:connect|createConnection|request|get)\(|\bnew (?:net\.|tls\.)?(?:TLS)?Socket\(|\bfetch\(|\bnew WebSocket\(/g;
  const found = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => {
      const text = readFileSync(join(root, name), 'utf8').replaceAll(/^\s*(?:\*|\/\/|\/\*\*).*$/gm, '');
      const places = [...text.matchAll(opens)].length;
      return places === 0 ? [] : [[name, [places, [...text.matchAll(/\bconnectHost\(/g)].length]] as const];
    });
  expect(Object.fromEntries(found)).toEqual(connections);
});
