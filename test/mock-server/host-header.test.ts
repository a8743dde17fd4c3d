import { expect, test } from 'vitest';
import { allowHostFlag } from '../../src/commands/mock/launch.ts';
import { recordCommand, replayCommand } from '../../src/commands/mock/record.ts';
import { runCommand, serveCommand, startCommand } from '../../src/commands/mock/serve.ts';
import { formOf } from '../../src/etcd-sim/forms.ts';
import type { Api } from '../../src/etcd-sim/gateway/rpc.ts';
import { clients } from '../../src/etcd-sim/member/run.ts';
import { isOwnHost, createHostMatcher, guardHandler } from '../../src/mock-server/server.ts';
import type { Incoming } from '../../src/platform/host.ts';
import { partlyMade } from '../support/context.ts';
import { fakeHost } from '../support/fake-host.ts';
import { readSources } from '../support/sources.ts';

test.each([
  undefined,
  '127.0.0.1:8080',
  '127.0.0.1',
  '[::1]:8080',
  '10.0.0.7:80',
  'localhost:8080',
  'LOCALHOST',
  'localhost.:8080',
  'tracker.localhost:8080',
  'host.docker.internal:8080',
  'mock.test',
  'api.example.com',
  'build-7.company.example',
  'build-7.company.example:8080',
])('%s is a name of this machine or of a container next to it', (host) => {
  expect(isOwnHost(host, 'build-7.company.example')).toBe(true);
});

test.each([
  'evil.example',
  'evil.local:8080',
  'mock.default.svc.cluster.local',
  'evil',
  'mock_server-1:8080',
  'evil.example:8080',
  'localhost.evil.example',
  '127.0.0.1.evil.example:8080',
  'evil.example:127.0.0.1',
  'internal.evil.example',
  'nottest.example',
  'notexample.com',
  'example.com.evil.example',
  '',
  ':8080',
  'a b',
  '[::1].evil.example',
  '127.0.0.1@evil.example',
  'evil.example?.localhost',
  'evil.example#.test',
  'evil.example/.localhost:8080',
  'evil.example\\.localhost',
  'evil.example%2f.localhost',
])('%s could be led here by its owner', (host) => {
  expect(isOwnHost(host, 'build-7')).toBe(false);
});

test('names that are given, the machine itself, and any', () => {
  expect(isOwnHost('laptop', 'laptop')).toBe(true);
  expect(isOwnHost('mock:80', 'x', ['mock'])).toBe(true);
  expect(isOwnHost('api.company.example:80', 'x', ['api.company.example'])).toBe(true);
  expect(isOwnHost('other.company.example', 'x', ['api.company.example'])).toBe(false);
  expect(isOwnHost('other.company.example', 'x', ['*'])).toBe(true);
});

test('one matcher checks every name separately, and forgets names that occur once', () => {
  const isOwn = createHostMatcher('laptop', ['mock']);
  for (let round = 0; round < 2; round++) {
    expect([isOwn('evil.example'), isOwn('evil.example')]).toEqual([false, false]);
    expect(isOwn('laptop')).toBe(true);
    expect(isOwn('mock:80')).toBe(true);
    expect(isOwn(undefined)).toBe(true);
    for (let i = 0; i < 150; i++) expect(isOwn(`evil-${i}.example`)).toBe(false);
  }
});

test.each<[number, string, string, Record<string, string>]>([
  [200, 'GET', '/a?b', { host: '127.0.0.1:1' }],
  [200, 'POST', '/a', { host: 'localhost:1' }],
  [200, 'GET', '//evil.example/a', { host: 'localhost:1' }],
  [200, 'GET', '/a', { host: 'localhost:1', origin: 'http://evil.example' }],
  [200, 'POST', '/a', { host: 'localhost:1', origin: 'http://localhost:1' }],
  [421, 'GET', '/a', { host: 'evil.example:1' }],
  [400, 'GET', 'http://evil.example/a', { host: '127.0.0.1:1' }],
  // After https://tracker.example.com, this target would complete another host.
  [400, 'GET', 'pany://evil/a', { host: '127.0.0.1:1' }],
  [400, 'OPTIONS', '*', { host: '127.0.0.1:1' }],
  [403, 'POST', '/a', { host: '127.0.0.1:1', origin: 'http://evil.example' }],
  [403, 'POST', '/a', { host: '127.0.0.1:1', origin: 'null' }],
  [403, 'DELETE', '/a', { host: '127.0.0.1:1', 'sec-fetch-site': 'cross-site' }],
])('a guarded handler responds with %i to %s %s %j', async (status, method, url, headers) => {
  const handle = guardHandler(() => ({ status: 200 }), { hostname: 'laptop' });
  expect((await handle(partlyMade<Incoming>({ method, url, headers }))).status).toBe(status);
});

test('a guarded handler names addresses that it accepts to a program with another host name', async () => {
  const handle = guardHandler(() => ({ status: 200 }), { hostname: 'laptop' });
  const ask = (host: string) => handle(partlyMade<Incoming>({ method: 'GET', url: '/a', headers: { host } }));
  const named = String((await ask('mock.company.example:1')).body).match(
    /127\.0\.0\.1|localhost|host\.docker\.internal/g,
  );
  expect(named).toHaveLength(3);
  for (const name of named ?? []) expect((await ask(`${name}:1`)).status).toBe(200);
});

test('--allow-host adds names to a guarded handler, and * accepts every name', async () => {
  const statusOf = async (host: string, allowed?: readonly string[]) => {
    const handle = guardHandler(() => ({ status: 200 }), { hostname: 'laptop' }, allowed);
    return (await handle(partlyMade<Incoming>({ method: 'GET', url: '/a', headers: { host } }))).status;
  };
  expect(await statusOf('recorder.company.example:1')).toBe(421);
  expect(await statusOf('recorder.company.example:1', ['recorder.company.example'])).toBe(200);
  expect(await statusOf('other.company.example:1', ['recorder.company.example'])).toBe(421);
  expect(await statusOf('other.company.example:1', ['*'])).toBe(200);
});

test.each([recordCommand, replayCommand, serveCommand, startCommand, runCommand])(
  'the command $path of a server that compares the Host header has --allow-host',
  ({ flags }) => {
    expect(flags).toHaveProperty('allow-host', allowHostFlag);
  },
);

test('a simulated member refuses web pages under every name, and serves programs', async () => {
  const served: string[] = [];
  const api = partlyMade<Api>({
    host: fakeHost(),
    faults: partlyMade<Api['faults']>({ delayMs: 0 }),
    form: formOf('3.4'),
  });
  const handle = clients(api, Promise.resolve());
  const ask = async (headers: Incoming['headers']) => {
    const made = await handle(partlyMade<Incoming>({ method: 'GET', url: '/nothing', headers }));
    served.push(String(made.body));
    return made.status;
  };
  for (const origin of ['https://evil.example', 'http://evil.example:2379', 'null', 'http://127.0.0.1:2379'])
    expect(await ask({ host: 'evil.example:2379', origin })).toBe(403);
  expect(await ask({ host: '127.0.0.1:2379', 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await ask({ host: 'store.company.example:2379' })).toBe(404);
});

/** Each server of this program, and what keeps web pages from using it. */
const servers: Readonly<Record<string, string>> = {
  'auth/doctor.ts': 'responds with 204 to every request, for a moment',
  'auth/events/receiver.ts': 'accepts only events that the service signed',
  'auth/loopback/listen.ts': 'decide of auth/loopback/pages.ts compares the Host header and the state',
  'commands/mock/serve.ts': 'guardHandler',
  'etcd-sim/member/run.ts': 'isFromPage; containers may send any Host header, as to the real server',
  'mock-server/server.ts': 'route compares the Host header and the origin',
  'tracker/webhooks.ts': 'the signature, or without a secret isFromPage; a tunnel may send any Host header',
};
test('each server states what keeps web pages from using it', () => {
  const listening = readSources().filter(
    ([name, text]) => !name.startsWith('platform/') && /network\s*\.listen\(/.test(text),
  );
  expect(listening.map(([name]) => name).toSorted()).toEqual(Object.keys(servers).toSorted());
  for (const [name, text] of listening)
    for (const guard of ['guardHandler', 'isFromPage'])
      if (servers[name]?.includes(guard)) expect(text).toContain(`${guard}(`);
});
