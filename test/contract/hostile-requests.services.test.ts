/** Requests that no ordinary client sends, as raw HTTP: two Host headers, names that others can lead here, writes of other sites, slow clients. */
import { connect } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { limits } from '../../src/core/limits.ts';
import { type TrackerServer, TOKEN, startTracker } from '../support/tracker-server.ts';
import { covers } from '../support/covers.ts';

let server: TrackerServer;
let port: number;
beforeAll(async () => {
  server = await startTracker({}, 'empty');
  port = Number(new URL(server.base).port);
});

/** Returns all output of the server until it closes the connection. */
const raw = (text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.on('data', (data) => (answer += data));
    socket.on('end', () => resolve(answer));
    socket.on('error', reject);
  });
const statusOf = async (text: string): Promise<string | undefined> => (await raw(text)).split(' ')[1];
const request = (method: string, headers: readonly string[], body = ''): string =>
  [
    `${method} /api/v3/labels?token=${TOKEN} HTTP/1.1`,
    ...headers,
    'Connection: close',
    ...(body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`]),
    '',
    body,
  ].join('\r\n');

describe('the Host header', () => {
  test.each([
    ['two that differ', ['Host: 127.0.0.1', 'Host: evil.example'], '400'],
    ['two that are the same', ['Host: 127.0.0.1', 'host: 127.0.0.1'], '400'],
    ['none', [], '400'],
    ['one', ['Host: 127.0.0.1'], '200'],
    ['a name of multicast DNS', ['Host: evil.local'], '421'],
    ['a name that a search domain completes', ['Host: evil'], '421'],
    ['a name that the name server of a network gives out', ['Host: evil.internal'], '421'],
    ['the host of a container', ['Host: host.docker.internal'], '200'],
    ['localhost', ['Host: localhost:80'], '200'],
  ])(
    '%s',
    covers('defect/S4-1', 'defect/S4-11', 'defect/S4-12', 'defect/S4-13', 'defect/R-15', 'defect/R-16'),
    async (_, headers, status) => {
      expect(await statusOf(request('GET', headers))).toBe(status);
    },
  );
});

describe('a page of another site', covers('defect/R-17'), () => {
  const write = (...headers: string[]): string =>
    request(
      'POST',
      ['Host: 127.0.0.1', ...headers],
      JSON.stringify({ name: `label ${headers.join(' ')}`.slice(0, 100) }),
    );
  test.each([
    [['Origin: http://evil.example'], '403'],
    [['Origin: null'], '403'],
    [['Origin: https://127.0.0.1.evil.example'], '403'],
    [['Sec-Fetch-Site: cross-site'], '403'],
    [[], '201'],
    [['Origin: http://127.0.0.1'], '201'],
    [['Sec-Fetch-Site: same-origin'], '201'],
  ])('writes with %j: %s', async (headers, status) => {
    expect(await statusOf(write(...headers))).toBe(status);
  });
  test('a rejected request of another site is not executed', covers('defect/S4-4'), async () => {
    const labels = (await server.ask('GET', '/labels')).body as { name: string }[];
    expect(labels.filter(({ name }) => name.includes('evil'))).toEqual([]);
  });
});

test(
  'a client has less time for the head than for the whole, and there is a ceiling of clients',
  covers('defect/S4-2', 'limit/headMs', 'limit/requestMs', 'limit/connections'),
  () => {
    expect(limits.headMs).toBeLessThan(limits.requestMs);
    expect(limits.connections).toBeGreaterThan(500);
  },
);

test('uploads that do not come to an end hold up no other one', covers('defect/S4-3'), async () => {
  const head = (size: number): string =>
    [
      `POST /api/v3/files?token=${TOKEN} HTTP/1.1`,
      'Host: 127.0.0.1',
      'Content-Type: multipart/form-data; boundary=b',
      `Content-Length: ${size}`,
      '',
      '--b\r\n',
    ].join('\r\n');
  // Each of these uploads would fill the memory budget for uploads.
  const slow = Array.from({ length: 3 }, () => connect(port, '127.0.0.1'));
  for (const socket of slow)
    await new Promise<void>((sent) => socket.write(head(limits.uploadBytes), () => sent()));
  const form = new FormData();
  form.append('file0', new Blob([new Uint8Array(limits.bodyBytes + 1).fill(7)]), 'large.bin');
  const { status, body } = await server.ask('POST', '/files', form);
  expect([status, body[0].size]).toEqual([201, limits.bodyBytes + 1]);
  for (const socket of slow) socket.destroy();
});
