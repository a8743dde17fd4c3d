import { afterEach, beforeEach, expect, it } from 'vitest';
import { askAny, type Opened, timeoutsOf } from '../../../src/commands/kv/prepare.ts';
import type { Listener } from '../../../src/platform/host.ts';
import { freePorts } from '../../../src/platform/node/ports.ts';
import { type RealHost, realHost } from '../../support/real-host.ts';
import { contextWith, partlyMade } from '../../support/context.ts';
import { makeDirectory } from '../../support/directory.ts';
import { covers } from '../../support/covers.ts';
import { opsctl } from '../../support/program.ts';

let real: RealHost;
let there: Listener;
let url: string;
beforeEach(async () => {
  real = await realHost();
  const answers = async (path: string) =>
    path === '/version'
      ? { status: 200, headers: {}, body: '{"kvserver":"3.3.27","kvcluster":"3.3.0"}' }
      : { status: 503, headers: {}, body: '{"error":"etcdserver: request timed out","code":14}' };
  there = await real.host.network.listen((request) => answers(request.url), { host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${there.port}`;
});
afterEach(async () => {
  await there.close();
});

it('among several failures, the error of a reachable member wins', async () => {
  const [port] = await freePorts(1);
  const nobody = `http://127.0.0.1:${port}`;
  const context = {
    host: real.host,
    settings: { get: () => undefined },
    log: { debug: () => {} },
    signal: new AbortController().signal,
  };
  const put = (urls: string[]) => {
    const members = urls.map((client_url) => ({ name: client_url, client_url }));
    const opened = partlyMade<Opened>({ cluster: { name: 'c', members }, access: {} });
    return askAny(contextWith(context), opened, (store) => store.put('a', 'b'));
  };
  for (const urls of [
    [url, nobody],
    [nobody, url],
    [nobody, url, nobody],
  ])
    await expect(put(urls), urls.join()).rejects.toMatchObject({
      message: expect.stringContaining('request timed out'),
    });
  await expect(put([nobody])).rejects.toMatchObject({ detail: { code: 'UNAVAILABLE' } });
});

it.each([
  [
    { value: '30s', origin: 'default' },
    { timeoutMs: 30_000, contactMs: 5000 },
  ],
  [{ value: '2s', origin: 'flag --timeout' }, { timeoutMs: 2000 }],
  [{ value: '90s', origin: 'environment OPSCTL_TIMEOUT' }, { timeoutMs: 90_000 }],
])(
  'the first response of a member has a short limit unless the user sets one: %o',
  async (setting, limits) => {
    const settings = { get: () => ({ key: 'timeout', ...setting }) };
    expect(await timeoutsOf(contextWith({ settings }))).toEqual(limits);
  },
);

it('kv status has one row for each member in CSV, also for a member that does not respond', async () => {
  const [port] = await freePorts(1);
  const endpoints = [url, `http://127.0.0.1:${port}`];
  const line = ['kv', 'status', '--endpoints', endpoints.join(','), '-o', 'csv'];
  const { stdout } = await opsctl(line, { home: makeDirectory() });
  const [header = '', ...rows] = stdout.trimEnd().split('\n');
  expect(header).toMatch(/^taken_at,cluster,leader,name,client_url,is_healthy,.*,errors$/);
  const columns = header.split(',').length;
  expect(rows.map((row) => row.split(',')[4])).toEqual(endpoints);
  expect(rows.join()).not.toContain('""');
  expect(rows[1]?.split(',').length).toBeGreaterThanOrEqual(columns);
  const some = await opsctl([...line, '--columns', 'client_url,cluster'], { home: makeDirectory() });
  expect(some.stdout.split('\n')).toEqual([
    'client_url,cluster',
    `${url},cluster`,
    `${endpoints[1]},cluster`,
    '',
  ]);
  const { json } = await opsctl([...line.slice(0, -1), 'json'], { home: makeDirectory() });
  expect(json().members).toHaveLength(2);
});

it.each([
  ['3.3 and later', '{"ID":"4660","TTL":"-1"}'],
  ['earlier members, which omit zeros', '{"ID":"4660"}'],
])(
  'kv lease timetolive reports an expired lease of %s',
  covers('spec/store#interfaces-6'),
  async (_, body) => {
    const answer = async (path: string) => ({
      status: 200,
      headers: {},
      body: path === '/version' ? '{"kvserver":"3.3.27","kvcluster":"3.3.0"}' : body,
    });
    const store = await real.host.network.listen((request) => answer(request.url), {
      host: '127.0.0.1',
      port: 0,
    });
    const line = ['kv', 'lease', 'timetolive', '1234', '--endpoints', `127.0.0.1:${store.port}`];
    const ran = await opsctl(line, { home: makeDirectory() });
    await store.close();
    expect([ran.code, ran.stdout]).toEqual([0, 'lease 0000000000001234 already expired\n']);
  },
);
