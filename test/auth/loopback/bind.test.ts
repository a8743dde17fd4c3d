import { expect, test } from 'vitest';
import type { Host, Listener } from '../../../src/platform/host.ts';
import { bindLoopback } from '../../../src/auth/loopback/listen.ts';
import { partlyMade } from '../../support/context.ts';

/** A network on which the test decides whether a port is free. It logs each opened and closed port. */
const network = (outcome: (host: string, port: number, count: number) => number | string) => {
  const log: string[] = [];
  let count = 0;
  const listen: Host['network']['listen'] = async (_, { host, port }) => {
    const given = outcome(host, port, ++count);
    if (typeof given === 'string') throw Object.assign(new Error(given), { code: given });
    log.push(`open ${host} ${given}`);
    const listener: Listener = {
      host,
      port: given,
      close: async () => void log.push(`close ${host} ${given}`),
    };
    return listener;
  };
  return { host: partlyMade<Host>({ network: { listen } }), log };
};
const bind = (host: Host, port: number) => bindLoopback(host, () => ({ status: 200 }), port);

test('the listener binds only both literals on the same port', async () => {
  const { host, log } = network((_, port) => port || 4711);
  expect(await bind(host, 0)).toMatchObject({ port: 4711, family: 'v4' });
  expect(log).toEqual(['open 127.0.0.1 4711', 'open ::1 4711']);
});

test('a free v4 port that another program uses on v6 is exchanged', async () => {
  const { host, log } = network((name, port, count) =>
    name === '::1' && count === 2 ? 'EADDRINUSE' : port || 4711 + count,
  );
  expect(await bind(host, 0)).toMatchObject({ port: 4714, family: 'v4' });
  expect(log).toEqual([
    'open 127.0.0.1 4712',
    'close 127.0.0.1 4712',
    'open 127.0.0.1 4714',
    'open ::1 4714',
  ]);
});

test('a machine without v6 listens on v4 and reports the reason', async () => {
  const { host } = network((name, port) => (name === '::1' ? 'EADDRNOTAVAIL' : port || 4711));
  expect(await bind(host, 0)).toMatchObject({ family: 'v4', without: '::1: EADDRNOTAVAIL' });
});

test('a machine without v4 listens on v6', async () => {
  const { host } = network((name, port) => (name === '127.0.0.1' ? 'EADDRNOTAVAIL' : port || 4711));
  expect(await bind(host, 0)).toMatchObject({
    family: 'v6',
    port: 4711,
    without: '127.0.0.1: EADDRNOTAVAIL',
  });
});

test('with --port, v6 may be missing or occupied, and the redirect goes to v4', async () => {
  const { host } = network((name, port) => (name === '::1' ? 'EADDRINUSE' : port));
  expect(await bind(host, 8400)).toMatchObject({ family: 'v4', port: 8400, without: '::1: EADDRINUSE' });
});

test.each(['EADDRINUSE', 'EACCES'])(
  'with --port, a v4 error %s is reported, and v6 is released',
  async (code) => {
    const { host, log } = network((name, port) => (name === '127.0.0.1' ? code : port));
    await expect(bind(host, 80)).rejects.toMatchObject({
      category: 'config',
      detail: { code: 'PORT_UNAVAILABLE' },
    });
    expect(log).toEqual(['open ::1 80', 'close ::1 80']);
  },
);
