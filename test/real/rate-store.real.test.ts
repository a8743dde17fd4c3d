import { type ChildProcess, spawn } from 'node:child_process';
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePorts } from '../../src/platform/node/ports.ts';
import { nodeHost } from '../../src/platform/node/host.ts';
import { openRateStore } from '../../src/cli/rate-stores.ts';
import { storeBucket } from '../../src/api/rate.ts';
import { type Program, program } from '../support/built-program.ts';
import { binariesOf } from '../support/cluster.ts';
import { realRedis } from './services.mjs';
import { covers } from '../support/covers.ts';
import { makeDirectory } from '../support/directory.ts';

const redis = realRedis();
const etcd = binariesOf('3.4');
const directory = makeDirectory();
const children: ChildProcess[] = [];
const programs: Program[] = [];
const servers: Server[] = [];
const urls: Record<string, string> = {};

const started = (command: string, args: readonly string[], ready: RegExp, env = {}): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, args, { env: { ...process.env, ...env }, cwd: directory });
    children.push(child);
    let text = '';
    const read = (data: Buffer): void => {
      text += String(data);
      if (ready.test(text)) resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('close', (code) => reject(new Error(`${command} ended with ${code}: ${text}`)));
  });

beforeAll(async () => {
  const [redisPort = 0, client = 0, peer = 0] = await freePorts(3);
  if (!('missing' in redis)) {
    const args = [
      '--port',
      String(redisPort),
      '--save',
      '',
      '--bind',
      '127.0.0.1',
      '--requirepass',
      'pass-w0rd-1',
    ];
    await started(redis.server, args, /Ready to accept connections/i, redis.env);
    urls['redis'] = `redis://:pass-w0rd-1@127.0.0.1:${redisPort}`;
  }
  if (!('missing' in etcd)) {
    const [own, others] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
    await started(
      etcd.server,
      [
        ...[
          '--data-dir',
          join(directory, 'etcd'),
          '--listen-client-urls',
          own,
          '--advertise-client-urls',
          own,
        ],
        ...['--listen-peer-urls', others, '--initial-advertise-peer-urls', others],
        ...['--initial-cluster', `default=${others}`],
      ],
      /ready to serve client requests/,
    );
    urls['etcd'] = `etcd://127.0.0.1:${client}`;
  }
});
afterAll(async () => {
  for (const one of programs) await one.close();
  for (const child of children) child.kill('SIGKILL');
  for (const server of servers) server.close();
});

/** A slow server that records the time of each request. */
const slowServer = async (): Promise<{ readonly url: string; readonly seen: number[] }> => {
  const seen: number[] = [];
  const server = createServer((_, reply) => {
    seen.push(performance.now());
    setTimeout(
      () => reply.writeHead(200, { 'content-type': 'application/json' }).end('[]'),
      30 * (seen.length % 7),
    );
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
};
const mostIn = (seen: readonly number[], windowMs: number): number =>
  Math.max(...seen.map((start) => seen.filter((at) => at >= start && at < start + windowMs).length));

// These tests mainly wait for a minute to pass, so they run concurrently.
describe.concurrent.each(['redis', 'etcd'])('a rate that machines share in %s', (kind) => {
  const missing = kind === 'redis' ? redis : etcd;
  // Without the part, the tests are skipped on a user's machine and fail in CI.
  if ('missing' in missing && process.env['OPSCTL_TEST_IN_CI'] === 'true')
    test(`${kind} is here`, () => expect.fail(`${kind} is missing: ${missing.missing}`));
  const some = 'missing' in missing ? test.skip : test.concurrent;

  some('no window that the server sees has more than the limit', async () => {
    const { url, seen } = await slowServer();
    const host = nodeHost();
    const [limit, windowMs] = [4, 1000];
    const machine = async (): Promise<void> => {
      const bucket = storeBucket(host, {
        open: () => openRateStore(host, new URL(urls[kind] ?? '')),
        key: 'window',
        limit,
        windowMs,
        own: () => {
          throw new Error('the store is there');
        },
        onLost: (why) => expect(why).toBe(''),
      });
      for (let i = 0; i < 3; i++) {
        const ended = await bucket.admit();
        await fetch(url).finally(() => ended('answered'));
      }
    };
    await Promise.all(Array.from({ length: 6 }, machine));
    expect(seen).toHaveLength(18);
    expect(mostIn(seen, windowMs)).toBeLessThanOrEqual(limit);
  });

  some('commands on several machines take places of one budget', async () => {
    const { url, seen } = await slowServer();
    const machines = Array.from({ length: 8 }, () =>
      program({
        OPSCTL_TRACKER_URL: url,
        OPSCTL_TRACKER_TOKEN: 'shared-t0ken-of-ci',
        OPSCTL_RATE_PER_MINUTE: '5',
        OPSCTL_RATE_STORE: urls[kind],
      }),
    );
    programs.push(...machines);
    const running = machines.map((one) => one.run(['tracker', 'labels', 'list', '-o', 'json']));
    const ended = await Promise.all(running);
    expect(ended.map(({ code }) => code)).toEqual(machines.map(() => 0));
    expect(ended.filter(({ stderr }) => stderr.includes('rate limit')).length).toBeGreaterThanOrEqual(3);
    expect(mostIn(seen, 60_000)).toBeLessThanOrEqual(5);
    expect(ended.map(({ stderr }) => stderr).join('')).not.toContain('pass-w0rd-1');
  });
});

test.concurrent(
  'an unreachable store leaves each machine its share, and the run reports it',
  covers('setting/rate_store', 'setting/rate_share'),
  async () => {
    const { url, seen } = await slowServer();
    const [port = 1] = await freePorts(1);
    for (const scheme of ['redis', 'etcd']) {
      const machine = program({
        OPSCTL_TRACKER_URL: url,
        OPSCTL_TRACKER_TOKEN: 'shared-t0ken-of-ci',
        OPSCTL_RATE_PER_MINUTE: '6',
        OPSCTL_RATE_SHARE: '2',
        OPSCTL_RATE_STORE: `${scheme}://:pass-w0rd-1@127.0.0.1:${port}`,
      });
      programs.push(machine);
      const list = (maxTime = '40s') => machine.run(['tracker', 'labels', 'list', '--max-time', maxTime]);
      const first = await list();
      expect([first.code, first.stderr]).toEqual([
        0,
        expect.stringMatching(
          /the rate store \w+:\/\/127.0.0.1:\d+ cannot be reached .*3 of 6 requests a minute/,
        ),
      ]);
      expect(first.stderr).not.toContain('pass-w0rd-1');
      expect([(await list()).code, (await list()).code]).toEqual([0, 0]);
      // The fourth request in a minute would exceed the share.
      expect((await list('8s')).code).not.toBe(0);
      expect(seen.splice(0)).toHaveLength(3);
    }
  },
);

test.concurrent('fifty processes on one machine: a slow server never sees more than the limit in a window', async () => {
  const { url, seen } = await slowServer();
  const home = program({
    OPSCTL_TRACKER_URL: url,
    OPSCTL_TRACKER_TOKEN: 't0ken-of-fifty',
    OPSCTL_RATE_PER_MINUTE: '40',
  });
  programs.push(home);
  const ended = await Promise.all(
    Array.from({ length: 50 }, () => home.run(['tracker', 'labels', 'list', '-o', 'json'])),
  );
  expect(ended.map(({ code }) => code)).toEqual(Array.from({ length: 50 }, () => 0));
  expect(seen).toHaveLength(50);
  expect(mostIn(seen, 60_000)).toBeLessThanOrEqual(40);
});
