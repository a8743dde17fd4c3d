/** Private directories of one process, whose secrets do not outlive it. */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { Context } from '../../src/api/context.ts';
import { groups } from '../../src/commands/program.ts';
import type { Host } from '../../src/platform/host.ts';
import { nodeHost } from '../../src/platform/node/host.ts';
import {
  keepOwnDirectory,
  makeOwnDirectory,
  recordChild,
  removeAbandonedDirectories,
  removeAbandonedTokens,
  runtimeDirectory,
  thisProcessIdentity,
} from '../../src/platform/process-identity.ts';
import { makeDirectory } from '../support/directory.ts';
import { readSources } from '../support/sources.ts';

/** As if the process that made the directory had ended. */
const afterEnd = (host: Host): Host => ({
  ...host,
  processes: { ...host.processes, isAlive: () => false },
});

test('a directory of a process is private, and the next process removes it if its owner was killed', async () => {
  const host = nodeHost();
  const base = makeDirectory();
  const own = await makeOwnDirectory(host, 'token', base);
  writeFileSync(join(own, 'token'), 'secret');
  expect(statSync(own).mode & 0o777).toBe(0o700);
  expect(statSync(join(own, 'owner.json')).mode & 0o777).toBe(0o600);
  await removeAbandonedDirectories(host, base);
  expect(existsSync(join(own, 'token'))).toBe(true);
  const next = await makeOwnDirectory(afterEnd(host), 'verify', base);
  expect(readdirSync(base)).toEqual([next.slice(base.length + 1)]);
});

const isLinux = process.platform === 'linux';
test.runIf(isLinux)(
  'a child of a killed owner ends before its directory is removed, and no other process',
  async () => {
    const real = nodeHost();
    const base = makeDirectory();
    const own = await makeOwnDirectory(real, 'trial', base);
    const sleeper = (...names: string[]) =>
      spawn('/bin/sh', ['-c', 'while :; do sleep 1; done', 'sh', ...names]);
    const [server, upgrade, other] = [sleeper(join(own, 'data')), sleeper(own), sleeper('/elsewhere')];
    try {
      await recordChild(real, own, 'server', server.pid as number);
      await real.files.makeDirectory(join(own, 'home'), 0o700);
      await recordChild(real, join(own, 'home'), 'upgrade', upgrade.pid as number);
      // The ID of a process that ended can belong to another one.
      writeFileSync(join(own, 'n1.pid'), `${other.pid}\n`);
      await removeAbandonedDirectories(real, base);
      expect([server.pid, upgrade.pid].map((pid) => real.processes.isAlive(pid as number))).toEqual([
        true,
        true,
      ]);
      const isOwner = (pid: number): boolean => pid === process.pid;
      await removeAbandonedDirectories(
        {
          ...real,
          processes: { ...real.processes, isAlive: (pid) => !isOwner(pid) && real.processes.isAlive(pid) },
        },
        base,
      );
      expect(existsSync(own)).toBe(false);
      const left = [server, upgrade, other].map(({ pid }) => real.processes.isAlive(pid as number));
      expect(left).toEqual([false, false, true]);
    } finally {
      for (const child of [server, upgrade, other]) child.kill('SIGKILL');
    }
  },
);

test.each([
  ['has no owner', (own: string) => writeFileSync(join(own, 'owner.json'), '')],
  ['has a damaged owner', (own: string) => writeFileSync(join(own, 'owner.json'), '{"pid":"1"}')],
  ['can be entered by others', (own: string) => chmodSync(own, 0o755)],
])('a directory that %s is never removed', async (_, change) => {
  const base = makeDirectory();
  const own = await makeOwnDirectory(nodeHost(), 'token', base);
  change(own);
  await removeAbandonedDirectories(afterEnd(nodeHost()), base);
  expect(existsSync(own)).toBe(true);
});

test('a directory of another user, of another machine, and a kept one are never removed', async () => {
  const host = nodeHost();
  const base = makeDirectory();
  const foreign = await makeOwnDirectory(host, 'token', base);
  await removeAbandonedDirectories({ ...afterEnd(host), uid: host.uid + 1 }, base);
  expect(existsSync(foreign)).toBe(true);
  const elsewhere = await makeOwnDirectory({ ...host, hostname: 'other' }, 'token', base);
  const kept = await makeOwnDirectory(host, 'rehearsal', base);
  await keepOwnDirectory(host, kept);
  await removeAbandonedDirectories(afterEnd(host), base);
  expect([foreign, elsewhere, kept].map((path) => existsSync(path))).toEqual([false, true, true]);
});

test('only a name of such a directory is looked at, and no link is followed', async () => {
  const host = nodeHost();
  const base = makeDirectory();
  const outside = makeDirectory();
  const owner = JSON.stringify(thisProcessIdentity(host));
  writeFileSync(join(outside, 'owner.json'), owner);
  chmodSync(outside, 0o700);
  const name = `opsctl-token-${'0'.repeat(24)}`;
  symlinkSync(outside, join(base, name));
  for (const other of ['opsctl-token-1', `opsctl-tour-${'0'.repeat(24)}`, `x-${name}`]) {
    mkdirSync(join(base, other), { mode: 0o700 });
    writeFileSync(join(base, other, 'owner.json'), owner);
  }
  await removeAbandonedDirectories(afterEnd(host), base);
  expect(readdirSync(base)).toHaveLength(4);
  expect(existsSync(join(outside, 'owner.json'))).toBe(true);
});

/** What else makes names in the temporary directory, and why no secret remains there. */
const others: Readonly<Record<string, string>> = {
  'cli/tracing.ts': 'caches of one run, whose secrets are redacted before they are stored',
  'commands/about.ts': 'the tour uses the embedded services only',
  'commands/tracker/extensions.ts': 'the text of the user, which must survive a killed editor',
  'mock-server/server.ts': 'a file without a name',
};
test('no other source puts files into the temporary directory', () => {
  const found = readSources().filter(
    ([name, text]) => !name.startsWith('platform/') && /[Ff]iles\.temporaryDirectory\(\),/.test(text),
  );
  expect(found.map(([name]) => name).toSorted()).toEqual(Object.keys(others).toSorted());
});

test('every command about accounts or tokens removes the token files of killed processes', async () => {
  const lists = await Promise.all(
    groups
      .filter(({ name }) => ['auth', 'login', 'logout', 'whoami', 'media', 'api'].includes(name))
      .map(({ load }) => load()),
  );
  const commands = lists.flat();
  expect(commands.length).toBeGreaterThan(10);
  const temporary = makeDirectory();
  const real = nodeHost();
  const host = afterEnd({
    ...real,
    env: {},
    files: { ...real.files, temporaryDirectory: () => temporary },
  });
  for (const command of commands) {
    const left = await makeOwnDirectory(real, 'token', temporary);
    // The command itself fails without a context, but only after the removal.
    await Promise.resolve(command.run({ host } as Context, {})).catch(() => undefined);
    expect([command.path.join(' '), existsSync(left)]).toEqual([command.path.join(' '), false]);
  }
});

test('a runtime directory that this user cannot inspect is not used, and stops no command', async () => {
  const [base, temporary] = [makeDirectory(), makeDirectory()];
  const real = nodeHost();
  const denied = (): Promise<never> => Promise.reject(Object.assign(new Error('denied'), { code: 'EACCES' }));
  const files = { ...real.files, info: denied, realPath: denied, temporaryDirectory: () => temporary };
  const host = { ...real, env: { XDG_RUNTIME_DIR: join(base, 'user') }, files };
  expect(await runtimeDirectory(host)).toBe(temporary);
  await removeAbandonedTokens(host);
});

test('the removal before a command loads no file about tokens', () => {
  const sources = new Map(readSources());
  const open = ['platform/process-identity.ts'];
  for (const name of open)
    for (const [, path = ''] of (sources.get(name) ?? '').matchAll(
      /^import (?!type)[^;]* from '(\.[^']+)';/gm,
    )) {
      const found = join(dirname(name), path);
      if (!open.includes(found)) open.push(found);
    }
  expect(open).toContain('platform/trust.ts');
  expect(open.filter((name) => !/^(core|platform)\//.test(name))).toEqual([]);
  expect(sources.get('commands/program.ts')).not.toContain('/auth/programs/');
});
