import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, utimesSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { freePorts } from '../../src/platform/node/ports.ts';
import { type RealHost, realHost } from '../support/real-host.ts';
import { testInDirectory } from '../support/test-in-directory.ts';
import { readSources } from '../support/sources.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});
const machine = async (): Promise<RealHost['host']> => {
  const real = await realHost();
  open.push(real);
  return real.host;
};

test('ports are different, free, and none that an outgoing connection could get', async () => {
  const { network } = await machine();
  const ports = await network.freePorts(40);
  expect(new Set(ports).size).toBe(40);
  for (const port of ports) {
    expect(port).toBeGreaterThanOrEqual(10_240);
    expect(port).toBeLessThan(32_240);
    open.push(await network.listen(() => ({ status: 200 }), { host: '127.0.0.1', port }));
  }
});

/** Returns a port that is not in use or assigned. */
const unclaimed = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
};

test('the search for free ports skips a port with a listener', async () => {
  const { network } = await machine();
  const [taken, other] = [await unclaimed(), await unclaimed()];
  open.push(await network.listen(() => ({ status: 200 }), { host: '127.0.0.1', port: taken }));
  const picked = [taken, other];
  expect(await freePorts(1, () => picked.shift() as number)).toEqual([other]);
});

test('a reserved port is not returned again while its server is down', async () => {
  const [given, other] = [await unclaimed(), await unclaimed()];
  expect(await freePorts(1, () => given)).toEqual([given]);
  const picked = [given, other];
  expect(await freePorts(1, () => picked.shift() as number)).toEqual([other]);
});

test('a port is returned again after half an hour, and its old reservation is removed', async () => {
  const [given, other] = [await unclaimed(), await unclaimed()];
  await freePorts(1, () => given);
  const note = join(tmpdir(), `opsctl-ports-${process.getuid?.()}`, String(given));
  const long = Date.now() / 1000 - 1801;
  utimesSync(note, long, long);
  await freePorts(1, () => other);
  expect(existsSync(note)).toBe(false);
  expect(await freePorts(1, () => given)).toEqual([given]);
});

testInDirectory('a directory of notes that others can write to is not used', async ({ directory }) => {
  const notes = join(directory, `opsctl-ports-${process.getuid?.()}`);
  mkdirSync(notes);
  chmodSync(notes, 0o777);
  vi.stubEnv('TMPDIR', directory);
  try {
    const given = await unclaimed();
    expect(await freePorts(1, () => given)).toEqual([given]);
    expect(await freePorts(1, () => given)).toEqual([given]);
    expect(readdirSync(notes)).toEqual([]);
  } finally {
    vi.unstubAllEnvs();
  }
});

test('reservations are not in the working directory if TMPDIR is relative', async () => {
  vi.stubEnv('TMPDIR', 'opsctl-relative-directory');
  try {
    const given = await unclaimed();
    expect(await freePorts(1, () => given)).toEqual([given]);
    expect(existsSync(`/tmp/opsctl-ports-${process.getuid?.()}/${given}`)).toBe(true);
    expect(existsSync('opsctl-relative-directory')).toBe(false);
  } finally {
    vi.unstubAllEnvs();
  }
});

test('only the files of Host and the crash report ask the system for its temporary directory', () => {
  const asking = readSources().filter(([, text]) => /\btmpdir\(/.test(text));
  expect(asking.map(([name]) => name).toSorted()).toEqual(['crash.ts', 'platform/node/files.ts']);
  for (const [, text] of asking)
    expect(text.match(/\btmpdir\(/g)?.length).toBe(text.includes('isAbsolute(tmpdir())') ? 2 : 1);
});

test('an error states the reason if no port is free', async () => {
  const { network } = await machine();
  const taken = await unclaimed();
  open.push(await network.listen(() => ({ status: 200 }), { host: '127.0.0.1', port: taken }));
  await expect(freePorts(1, () => taken)).rejects.toMatchObject({ code: 'EADDRINUSE' });
});
