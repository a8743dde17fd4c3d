/** The members of a rehearsal survive its killed process, and need their directory until they end. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Host } from '../../src/platform/host.ts';
import { nodeHost } from '../../src/platform/node/host.ts';
import { makeOwnDirectory, removeAbandonedDirectories } from '../../src/platform/process-identity.ts';
import { makeDirectory } from '../support/directory.ts';

const PID = 4_000_001;
/** The owner has ended. The process of the file may run, with this command. */
const afterEnd = (host: Host, command: string | undefined): Host => ({
  ...host,
  processes: { ...host.processes, isAlive: (pid) => pid === PID && command !== undefined },
  files: {
    ...host.files,
    readNow: (path) => (path === `/proc/${PID}/cmdline` ? command : host.files.readNow(path)),
  },
});

test.each<[string, string, (own: string) => string | undefined, boolean]>([
  ['runs', '.', (own) => `etcd\0--data-dir\0${own}/n1`, true],
  [
    'runs in the copy of simulated servers',
    'copy',
    (own) => `etcd\0--config-file\0${own}/copy/n1.yaml`,
    true,
  ],
  ['has ended', '.', () => undefined, false],
  ['has ended, and another process has its ID', '.', () => 'sleep\x080', false],
])('a directory whose member %s', async (_, place, commandIn, isKept) => {
  const host = nodeHost();
  const base = makeDirectory();
  const own = await makeOwnDirectory(host, 'rehearsal', base);
  mkdirSync(join(own, place), { recursive: true });
  writeFileSync(join(own, place, 'n1.pid'), `${PID}\n`);
  await removeAbandonedDirectories(afterEnd(host, commandIn(own)), base);
  expect(existsSync(own)).toBe(isKept);
  await removeAbandonedDirectories(afterEnd(host, undefined), base);
  expect(existsSync(own)).toBe(false);
});
