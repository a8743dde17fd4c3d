import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { beforeEach, expect, test } from 'vitest';
import { type Holder, lookAt, thisProcess, tryLock, unlock } from '../../src/platform/file-lock.ts';
import type { Host } from '../../src/platform/host.ts';
import { type RealHost, realHost } from '../support/real-host.ts';
import { covers } from '../support/covers.ts';

let real: RealHost;
let path: string;
beforeEach(async () => {
  real = await realHost();
  path = join(real.directory, 'x.lock');
});

const deadPid = (): Promise<number> =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, ['-e', '0']);
    child.once('exit', () => resolve(child.pid ?? 0));
  });
const holder = (more: Partial<Holder> = {}): Holder => ({
  pid: 1,
  mark: 'm',
  machine: real.host.hostname,
  ...real.host.processes.scope(),
  nonce: 'n',
  sinceMs: real.host.now(),
  ...more,
});
const files = (): string[] => readdirSync(real.directory).filter((name) => name.startsWith('x.lock'));

test('an owner on another machine keeps its lock at any age', async () => {
  writeFileSync(path, JSON.stringify(holder({ machine: 'elsewhere', sinceMs: 0 })));
  expect(await tryLock(real.host, path, thisProcess(real.host))).toMatchObject({
    kind: 'held',
    by: { machine: 'elsewhere' },
  });
});

test.each([
  ['another namespace', { pidNamespace: 'pid:[7]' }],
  ['another boot', { bootId: 'earlier', pidNamespace: 'pid:[7]' }],
  ['another machine with the same host name', { machineId: 'other' }],
  ['version 0.1.0', { machineId: undefined, bootId: undefined, pidNamespace: undefined }],
])('the lock of %s and its claim are not replaced', async (_, more) => {
  const unchecked = holder({ pid: await deadPid(), nonce: 'u', sinceMs: 0, ...more });
  writeFileSync(path, JSON.stringify(unchecked));
  expect(await tryLock(real.host, path, thisProcess(real.host))).toMatchObject({ kind: 'held' });
  writeFileSync(path, JSON.stringify(holder({ pid: await deadPid(), nonce: 'a' })));
  writeFileSync(`${path}.claim-a`, JSON.stringify(unchecked));
  expect(await tryLock(real.host, path, thisProcess(real.host))).toMatchObject({
    kind: 'held',
    claim: `${path}.claim-a`,
    by: { nonce: 'u' },
  });
});

/** Starts `count` parallel attempts and returns the number of attempts that acquired the lock. */
const race = async (count: number): Promise<number> => {
  const tries = await Promise.all(
    Array.from({ length: count }, () => tryLock(real.host, path, thisProcess(real.host))),
  );
  return tries.filter((one) => one === true).length;
};
test('only one of many processes gets the lock; the others learn its owner', async () => {
  const mine = thisProcess(real.host);
  expect(await tryLock(real.host, path, mine)).toBe(true);
  expect(await race(10)).toBe(0);
  expect(await lookAt(real.host, path)).toEqual({ kind: 'held', by: mine });
  await unlock(real.host, path, mine);
  expect(await race(10)).toBe(1);
});

test('one of many processes replaces the lock of an exited process, and no claim remains', async () => {
  writeFileSync(path, JSON.stringify(holder({ pid: await deadPid() })));
  expect(await race(20)).toBe(1);
  expect(files()).toEqual(['x.lock']);
});

test('the lock follows the claims of exited processes to the last one', async () => {
  const [a, b, c] = [await deadPid(), await deadPid(), await deadPid()];
  writeFileSync(path, JSON.stringify(holder({ pid: a, nonce: 'a' })));
  writeFileSync(`${path}.claim-a`, JSON.stringify(holder({ pid: b, nonce: 'b' })));
  writeFileSync(`${path}.claim-b`, JSON.stringify(holder({ pid: c, nonce: 'c' })));
  expect(await race(20)).toBe(1);
  expect(files()).toEqual(['x.lock']);
});

/** Starts a process that the system kills while it replaces a file, and returns its process ID. */
const killWhileReplacing = async (file: string): Promise<number> => {
  const script = join(real.directory, 'replace.mjs');
  await build({
    stdin: {
      contents: `
        import { nodeFiles } from './src/platform/node/files.ts';
        const text = async function* () { yield Buffer.from('{'); process.kill(process.pid, 'SIGKILL'); };
        await nodeFiles.replaceStream(process.argv[2], text(), 0o600);`,
      resolveDir: process.cwd(),
    },
    ...{ outfile: script, bundle: true, platform: 'node', format: 'esm', logLevel: 'error' },
  });
  const child = spawn(process.execPath, [script, file]);
  await once(child, 'close');
  return child.pid ?? 0;
};
test('the next owner removes the unfinished files of killed owners, and no others', async () => {
  const guarded = join(real.directory, 'x');
  const owner = await killWhileReplacing(guarded);
  const claimant = await killWhileReplacing(path);
  const others = [
    `.x.${process.pid}.0123abcd.tmp`,
    `.x.${owner}.0123abcd`,
    `x.${owner}.0123abcd.tmp`,
    `.x.${owner}1.0123abcd.tmp`,
  ];
  for (const name of others) writeFileSync(join(real.directory, name), '');
  const names = (): string[] => readdirSync(real.directory).filter((name) => name.endsWith('.tmp'));
  expect(names()).toHaveLength(5);
  writeFileSync(path, JSON.stringify(holder({ pid: owner, nonce: 'a' })));
  writeFileSync(`${path}.claim-a`, JSON.stringify(holder({ pid: claimant, nonce: 'b' })));
  expect(await race(5)).toBe(1);
  expect(files()).toEqual(['x.lock']);
  expect(names().toSorted()).toEqual(others.filter((name) => name.endsWith('.tmp')).toSorted());
});

test('a claim from an outdated read of the lock is too late', async () => {
  writeFileSync(path, JSON.stringify(holder({ pid: await deadPid() })));
  const winner = thisProcess(real.host);
  // The slow process has read the stale lock; before it claims the lock, another process takes over and releases the claim.
  const slow: Host = Object.create(real.host, {
    files: {
      value: {
        ...real.host.files,
        create: async (file: string, ...rest: [string, number]) => {
          if (file.includes('.claim-')) expect(await tryLock(real.host, path, winner)).toBe(true);
          return real.host.files.create(file, ...rest);
        },
      },
    },
  });
  expect(await tryLock(slow, path, thisProcess(real.host))).toEqual({ kind: 'held', by: winner });
  expect(files()).toEqual(['x.lock']);
});

test('an empty lock file counts as held until it is old; a lock file without an owner does not', async () => {
  writeFileSync(path, '');
  expect(await lookAt(real.host, path)).toEqual({ kind: 'held' });
  const later = Object.create(real.host, { now: { value: () => real.host.now() + 5000 } });
  expect(await tryLock(later, path, thisProcess(real.host))).toBe(true);
  writeFileSync(path, 'garbage');
  expect(await tryLock(real.host, path, thisProcess(real.host))).toBe(true);
});

test('a single attempt waits for the content of a lock file and reports its owner', async () => {
  const other = { ...thisProcess(real.host), nonce: 'other' };
  writeFileSync(path, '');
  const asked = tryLock(real.host, path, thisProcess(real.host));
  writeFileSync(path, JSON.stringify(other));
  expect(await asked).toMatchObject({ kind: 'held', by: { nonce: 'other' } });
});

test('a single attempt replaces a lock file whose owner exited before it wrote the file', async () => {
  const clock = { ms: real.host.now() };
  const host = Object.create(real.host, {
    now: { value: () => clock.ms },
    sleep: {
      value: async (ms: number) => {
        clock.ms += ms;
      },
    },
  });
  writeFileSync(path, '');
  expect(await tryLock(host, path, thisProcess(real.host))).toBe(true);
});

test('only the owner of a lock removes it', async () => {
  const mine = thisProcess(real.host);
  await tryLock(real.host, path, mine);
  await unlock(real.host, path, thisProcess(real.host));
  expect(files()).toEqual(['x.lock']);
  await unlock(real.host, path, mine);
  expect(files()).toEqual([]);
});

test(
  'a lock and a claim that were left in the same millisecond are both taken over',
  covers('defect/R-26'),
  async () => {
    // A whole second: some file systems round other times down.
    const at = new Date(Math.floor(Date.now() / 1000) * 1000 - 60_000);
    for (const name of [path, `${path}.claim-unreadable-${at.getTime()}`]) {
      writeFileSync(name, '');
      utimesSync(name, at, at);
    }
    expect(await tryLock(real.host, path, holder({ pid: real.host.pid, mark: undefined }))).toBe(true);
    expect(files()).toEqual(['x.lock']);
  },
);

test("an incomplete claim of the same millisecond after another process's claim is replaced", async () => {
  const at = new Date(Math.floor(Date.now() / 1000) * 1000 - 60_000);
  const gone = holder({ pid: 2 ** 22 + 1, nonce: 'abc' });
  const claim = `${path}.claim-unreadable-${at.getTime()}`;
  for (const [name, text] of [
    [path, ''],
    [claim, JSON.stringify(gone)],
    [`${path}.claim-abc`, ''],
  ] as const) {
    writeFileSync(name, text);
    utimesSync(name, at, at);
  }
  expect(await tryLock(real.host, path, holder({ pid: real.host.pid, mark: undefined }))).toBe(true);
  expect(files()).toEqual(['x.lock']);
});
