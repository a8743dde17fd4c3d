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
