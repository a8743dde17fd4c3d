import { consent } from '../support/consent.ts';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import { openAppend } from '../../src/platform/node/files.ts';
import { parseJournal } from '../../src/kv/engine/journal.ts';
import {
  type Binaries,
  binariesOf,
  call,
  gatewayPut,
  hasBinaries,
  missingWrites,
  pair,
  type RealCluster,
  type RealMember,
  startCluster,
  startWriter,
  type Writer,
} from '../support/cluster.ts';
import { opsctl, type Ran } from '../support/program.ts';
import { whenJournal } from '../support/when-journal.ts';
import { makeDirectory } from '../support/directory.ts';
import { errorOf } from '../support/facts.ts';

const { from, to } = pair;
const mib = 1024 * 1024;
/** The longer half of the suite. */
const isSoak = process.env.OPSCTL_SOAK === '1';

/** Mounts a separate file system that can become full. Only root may mount it. */
const mount = (path: string, bytes: number): void => {
  mkdirSync(path, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'none', path], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
};
const unmount = (path: string): void => void execFileSync('umount', ['-l', path], { stdio: 'ignore' });
const whyNoMount = (): string | undefined => {
  const path = makeDirectory('kv-mount-');
  try {
    mount(path, mib);
    unmount(path);
    return undefined;
  } catch (error) {
    return String((error as { stderr?: Buffer }).stderr ?? error).trim();
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
};
const missing = hasBinaries(from, to) ? whyNoMount() : 'no real servers';
if (missing !== undefined)
  process.stderr.write(`left out: really full disks: ${missing} (mounting a tmpfs needs root)\n`);
if (missing !== undefined && process.env.OPSCTL_TEST_IN_CI === 'true' && process.getuid?.() === 0)
  throw new Error(`root cannot mount a tmpfs: ${missing}`);

/** Fills the remaining space to the last byte. */
const fill = (directory: string, leaveBytes = 0): void => {
  const path = join(directory, 'filler');
  const file = openSync(path, 'a');
  const { bavail, bsize } = statfsSync(directory);
  let left = bavail * bsize - leaveBytes;
  try {
    for (const size of [mib, 4096, 1]) for (; left >= size; left -= size) writeSync(file, Buffer.alloc(size));
  } catch {
    // The disk is full, as intended.
  }
  closeSync(file);
};
const free = (directory: string): void => rmSync(join(directory, 'filler'), { force: true });

let cluster: RealCluster;
let writer: Writer | undefined;
let disk: string;
let home: string;
beforeEach(() => {
  disk = makeDirectory('kv-disk-');
  home = makeDirectory('kv-home-');
});
afterEach(async () => {
  await writer?.stop();
  writer = undefined;
  await cluster?.stop();
  for (let tries = 0; tries < 3; tries += 1)
    try {
      unmount(disk);
    } catch {
      break;
    }
  for (const path of [disk, home]) rmSync(path, { recursive: true, force: true });
});

const kv = (
  verb: 'upgrade' | 'resume' | 'check',
  more: string[] = [],
  host?: (host: Host) => Host,
  at = home,
): Promise<Ran> =>
  opsctl(
    [
      'kv',
      verb,
      '--cluster',
      cluster.file,
      ...(verb === 'check' ? [] : consent(verb)),
      '-o',
      'json',
      ...more,
    ],
    {
      home: at,
      ...(host === undefined ? {} : { host }),
    },
  );
const error = (ran: Ran): { code: string; message: string; hint: string } => errorOf(ran);
const versions = async (): Promise<string[]> =>
  Promise.all(
    cluster.urls.map(
      async (url) => JSON.parse((await call(`${url}/version`)).text).etcdserver.slice(0, 3) as string,
    ),
  );
const pids = (): (number | undefined)[] => cluster.members.map((member) => cluster.pid(member));
const filesBelow = (directory: string): string[] =>
  existsSync(directory) ? (readdirSync(directory, { recursive: true }) as string[]) : [];
const journalText = (directory: string): string => {
  const name = filesBelow(directory).find((path) => path.endsWith('journal.jsonl')) as string;
  return readFileSync(join(directory, name), 'utf8');
};
const nothingIsLost = async (): Promise<void> => {
  const { acknowledged, failed } = (await writer?.stop()) ?? { acknowledged: [], failed: 0 };
  writer = undefined;
  expect(failed).toBe(0);
  expect(acknowledged.length).toBeGreaterThan(0);
  for (const url of cluster.urls) expect(await missingWrites(url, acknowledged)).toEqual([]);
};
/**
 * A full disk still has free space in the last block of each file. A filler line uses it, so that the next
 * line does not fit.
 */
const fillLastBlock = (path: string): void => {
  const [file, end] = [openSync(path, 'a'), '"}\n'];
  writeSync(file, '{"kind":"filler","pad":"');
  try {
    for (;;) writeSync(file, 'x');
  } catch {
    ftruncateSync(file, fstatSync(file).size - end.length);
    writeSync(file, end);
  }
  closeSync(file);
};
const fillWith = (journal: string): void => {
  fill(disk);
  fillLastBlock(journal);
};
const resumed = async (at = home): Promise<void> => {
  const ran = await kv('resume', [], undefined, at);
  expect(`${ran.code} ${ran.stderr}`).toMatch(/^0 /);
  expect(await versions()).toEqual([to, to, to]);
};
/** The earlier lines are complete, and no lock remains that would block the next command. */
const journalIsWhole = (at: string): void => {
  const text = journalText(at);
  expect(parseJournal(text).wholeBytes).toBe(Buffer.byteLength(text));
  expect(filesBelow(at).filter((path) => path.endsWith('/lock'))).toEqual([]);
};

const real = describe.runIf(missing === undefined);

real('a file on a full disk', () => {
  it('a full disk stores a complete line or no part of it', () => {
    mount(disk, mib);
    const path = join(disk, 'journal');
    const file = openAppend(path);
    file.write('first\n');
    fill(disk);
    expect(() => file.write(`${'x'.repeat(100_000)}\n`)).toThrow('ENOSPC');
    free(disk);
    file.write('second\n');
    file.close();
    expect(readFileSync(path, 'utf8')).toBe('first\nsecond\n');
  });

  it('keeps the lines that another process appended when a write fails', () => {
    mount(disk, mib);
    const path = join(disk, 'journal');
    const file = openAppend(path);
    file.write('first\n');
    appendFileSync(path, 'a line of another process\n');
    file.write('second\n');
    fill(disk);
    expect(() => file.write(`${'x'.repeat(100_000)}\n`)).toThrow('ENOSPC');
    file.close();
    expect(readFileSync(path, 'utf8')).toBe('first\na line of another process\nsecond\n');
  });
});

real("a disk of the operator's machine is full", () => {
  it('full disk before the run: refused, with directory and figures, without changes', async () => {
    cluster = await startCluster({ size: 3, from, to });
    mount(disk, mib);
    fill(disk, 40_000);
    cluster.write({ snapshot_dir: join(disk, 'snapshots') });
    const before = pids();
    const ran = await kv('upgrade');
    expect(ran.code).toBe(10);
    expect(error(ran).code).toBe('DISK_SPACE');
    expect(error(ran).message).toMatch(
      new RegExp(
        `${disk}/snapshots has \\d+ KiB free, [\\d.]+ [KM]iB is required for the snapshots of 3 members`,
      ),
    );
    expect(error(ran).hint).toContain('snapshot_dir');
    const state = await kv('upgrade', [], undefined, disk);
    expect(state.code).toBe(10);
    expect(error(state).code).toBe('DISK_SPACE');
    expect(error(state).message).toMatch(/ has \d+ KiB free, [\d.]+ [KM]iB is required for /);
    const [first] = (await kv('check'))
      .json()
      .findings.filter(({ guard }: { guard: string }) => guard === 'disk-space');
    expect(first).toMatchObject({ level: 'fail' });
    expect(pids()).toEqual(before);
    // The audit log is about the command, not about the cluster.
    expect(filesBelow(disk).filter((path) => !/^state(\/mock(\/audit.*)?)?$/.test(path))).toEqual(['filler']);
  });

  it('full disk with an accepted refusal: the lock cannot be written, and no lock remains', async () => {
    cluster = await startCluster({ size: 3, from, to });
    mount(disk, mib);
    mkdirSync(join(disk, 'state', 'kv', 'test'), { recursive: true });
    fill(disk);
    const before = pids();
    const ran = await kv('upgrade', ['--accept', 'disk-space'], undefined, disk);
    expect(ran.code).toBe(10);
    expect(error(ran).message).toMatch(/no changes were made: ENOSPC/);
    expect(filesBelow(disk).filter((path) => path.endsWith('lock'))).toEqual([]);
    expect(pids()).toEqual(before);
  });

  it('full disk during a snapshot: no part remains, the member is unchanged, a resume continues', async () => {
    cluster = await startCluster({ size: 3, from, to });
    for (let i = 0; i < 60; i += 1)
      await gatewayPut(cluster.urls[0] as string, `big/${i}`, 'x'.repeat(60_000));
    mount(disk, 60 * mib);
    cluster.write({ snapshot_dir: join(disk, 'snapshots') });
    writer = startWriter(cluster.urls);
    const before = pids();
    // Fills the disk after the last check of the free space and leaves half a snapshot.
    const late = (host: Host): Host => ({
      ...host,
      files: {
        ...host.files,
        replaceStream: (path, data, mode) => {
          fill(disk, mib);
          return host.files.replaceStream(path, data, mode);
        },
      },
    });
    const ran = await kv('upgrade', [], late);
    expect(ran.code).toBe(8);
    expect(error(ran).message).toMatch(
      new RegExp(
        `^n\\d: cannot write its snapshot: ENOSPC: no space left on device, write '${disk}/snapshots/test-n\\d-\\S+\\.db'$`,
      ),
    );
    expect(error(ran).hint).toContain('free space');
    expect(filesBelow(disk).sort()).toEqual(['filler', 'snapshots', 'snapshots/test.upgrade-progress.json']);
    expect(pids()).toEqual(before);
    // The disk is still full, and opsctl reports it before it requests a byte.
    const again = await kv('resume');
    expect(again.code).toBe(8);
    expect(error(again).message).toMatch(
      / has 1\.0 MiB free, \d+ MiB is required for the snapshots of 3 members$/,
    );
    free(disk);
    await resumed();
    await nothingIsLost();
  });

  it.each([
    ['before a member is touched', /"step":"n\d\.snapshot","detail/, 0],
    ['in the moment in which a member is stopped', /"kind":"placed"/, 1],
  ])(
    'full disk for the journal, %s: the current member is completed, the run stops, a resume continues',
    async (_, fits, upgraded) => {
      cluster = await startCluster({ size: 3, from, to });
      mount(disk, 4 * mib);
      writer = startWriter(cluster.urls);
      const ran = await kv('upgrade', [], whenJournal(fits, fillWith), disk);
      expect(ran.code).toBe(8);
      expect(error(ran).code).toBe('JOURNAL_UNWRITABLE');
      expect(error(ran).message).toMatch(
        new RegExp(`cannot write the journal ${disk}/\\S+: the disk is full`),
      );
      if (upgraded === 0) expect(error(ran).message).toMatch(/^n\d: stop was not started: /);
      expect(ran.stderr).toContain('cannot write the report in ');
      expect((await versions()).filter((version) => version === to)).toHaveLength(upgraded);
      expect(cluster.members.every((member) => cluster.isAlive(member))).toBe(true);
      journalIsWhole(disk);
      free(disk);
      if (upgraded > 0 || isSoak) await resumed(disk);
      await nothingIsLost();
    },
  );

  it('full disk for the last records before a stop: the member is not stopped, and a resume continues', async () => {
    cluster = await startCluster({ size: 3, from, to });
    mount(disk, 4 * mib);
    const ran = await kv('upgrade', [], whenJournal(/"begin","step":"n\d\.stop"/, fillWith), disk);
    expect(ran.code).toBe(8);
    // The free part of the last block of the journal decides which of the two files has no room.
    expect(['JOURNAL_UNWRITABLE', 'PLACEMENT_UNWRITABLE']).toContain(error(ran).code);
    expect(error(ran).message).toContain('the disk is full');
    expect(await versions()).toEqual([from, from, from]);
    free(disk);
    await resumed(disk);
  });

  it('full disk at the end: the work is reported as done, with the files that could not be written', async () => {
    cluster = await startCluster({ size: 3, from, to });
    mount(disk, 4 * mib);
    const ran = await kv('upgrade', ['--no-canary'], whenJournal(/"begin","step":"confirm"/, fillWith), disk);
    expect(ran.code).toBe(0);
    expect(ran.json()).toMatchObject({ outcome: 'done' });
    expect(ran.stderr).toContain('cannot write the report in ');
    expect(await versions()).toEqual([to, to, to]);
    journalIsWhole(disk);
    free(disk);
    await resumed(disk);
  });

  it('full disk and a failing new version: the member still gets its old version', async () => {
    cluster = await startCluster({ size: 3, from, to });
    const { server } = binariesOf(to) as Binaries;
    const broken = join(cluster.directory, 'broken');
    writeFileSync(broken, `#!/bin/sh\n[ "$1" = --version ] && exec ${server} --version\nexit 3\n`, {
      mode: 0o755,
    });
    cluster.write(
      {},
      cluster.members.map((member) => ({
        ...member,
        new_binary: broken,
        new_command: [broken, ...member.new_command.slice(1)],
      })),
    );
    mount(disk, 4 * mib);
    writer = startWriter(cluster.urls);
    const ran = await kv('upgrade', [], whenJournal(/"kind":"placed"/, fillWith), disk);
    expect(`${ran.code} ${ran.stderr}`).toMatch(/^12 /);
    expect(error(ran).message).toMatch(/^(n\d) did not become healthy: .* \1 runs .* again/);
    expect(await versions()).toEqual([from, from, from]);
    journalIsWhole(disk);
    await nothingIsLost();
  });
});

/** Moves a follower to the small disk. Its write-ahead log requires 128 MiB. */
const followerOnDisk = async (): Promise<string> => {
  mount(disk, 400 * mib);
  cluster = await startCluster({ size: 3, from, to });
  const statuses = await Promise.all(
    cluster.urls.map(async (url) =>
      JSON.parse((await call(`${url}${pair.prefix}/maintenance/status`, {})).text),
    ),
  );
  const old = cluster.members[
    statuses.findIndex(({ leader, header }) => header.member_id !== leader)
  ] as RealMember;
  const words = (command: readonly string[]): string[] =>
    command.map((word) => (word === old.data_dir ? join(disk, 'data') : word));
  const moved = {
    ...old,
    data_dir: join(disk, 'data'),
    old_command: words(old.old_command),
    new_command: words(old.new_command),
  };
  cluster.kill(old, 'SIGTERM');
  await cluster.gone(old);
  execFileSync('cp', ['-a', old.data_dir, moved.data_dir]);
  cluster.start(moved);
  await cluster.healthy();
  const members = cluster.members.map((member) => (member.name === old.name ? moved : member));
  cluster.write({}, members);
  return old.name;
};

real('the disk of a member is full', () => {
  it('full disk during the data copy: the partial copy is removed, the old version starts, a resume continues', async () => {
    const name = await followerOnDisk();
    for (let i = 0; i < 100; i += 1)
      await gatewayPut(cluster.urls[0] as string, `big/${i}`, 'x'.repeat(60_000));
    writer = startWriter(cluster.urls);
    // Enough space for the 61 MiB of a start, but not for another copy of the data.
    const filled = whenJournal(new RegExp(`"begin","step":"${name}.copy-data"`), () => fill(disk, 63 * mib));
    const ran = await kv('upgrade', ['--copy-data'], filled);
    expect(`${ran.code} ${ran.stderr}`).toMatch(/^12 /);
    expect(error(ran)).toMatchObject({ code: 'MEMBER_REVERTED' });
    expect(error(ran).message).toMatch(
      new RegExp(`^${name}: could not copy the data directory: .*No space left on device`),
    );
    // The message does not quote the server log, because the copy failed and not the start.
    expect(error(ran).message).not.toContain('the end of its log');
    expect(error(ran).message).toContain(`${name} runs ${from} again`);
    expect(readdirSync(disk).sort()).toEqual(['data', 'filler']);
    expect(cluster.members.every((member) => cluster.isAlive(member))).toBe(true);
    free(disk);
    await resumed();
    expect(readdirSync(disk).filter((path) => /^data\.before-/.test(path))).toHaveLength(1);
    await nothingIsLost();
  });

  it('when its turn comes: it is not stopped, because no version could start there again', async () => {
    const name = await followerOnDisk();
    writer = startWriter(cluster.urls);
    const filled = whenJournal(new RegExp(`"begin","step":"${name}.snapshot"`), () => fill(disk, 30 * mib));
    const before = cluster.pid(cluster.members.find((member) => member.name === name) as RealMember);
    const ran = await kv('upgrade', [], filled);
    expect(`${ran.code} ${ran.stderr}`).toMatch(/^8 /);
    expect(error(ran).message).toMatch(
      new RegExp(
        `^${name} has 30 MiB free, \\d+ MiB is required on the disk of its data directory; it was not stopped`,
      ),
    );
    expect(cluster.pid(cluster.members.find((member) => member.name === name) as RealMember)).toBe(before);
    free(disk);
    if (isSoak) await resumed();
    await nothingIsLost();
  });
});
