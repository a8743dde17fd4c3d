/**
 * The shell where a member lives, as far as a restore uses it: the ctl program that builds a data directory from a snapshot, and moving
 * directories. Each change of the disk is an effect, so that a crash can leave a directory half built or half swapped.
 */
import { inMemory } from '../../../src/kv/client/snapshot-content.ts';
import { clusterId, memberId, walPath } from '../../../src/etcd-sim/disk/wal.ts';
import { wordsOf } from '../../../src/kv/upgrade/cluster/command-line.ts';
import { snapshotKeys } from '../../../src/kv/upgrade/rehearse/rehearse.ts';
import type { Finished } from '../../../src/platform/host.ts';
import * as calls from './file-system.ts';
import { kernelNow } from './kernel.ts';

const finished = (code: number, stdout = ''): Finished => ({
  ...{ code, signal: null, stdout, stderr: code === 0 ? '' : 'the simulated shell failed', timedOut: false },
});
const exists = (path: string): boolean => kernelNow().current?.machine.disk.find(path) !== undefined;

/** `CTL snapshot restore FILE --name … --data-dir …` */
const buildDirectory = (line: string): void => {
  const words = wordsOf(line.replace(/ >&2.*$/, '')) ?? [];
  const flag = (name: string): string => words[words.indexOf(`--${name}`) + 1] ?? '';
  const [snapshot, directory] = [words[words.indexOf('restore') + 1] ?? '', flag('data-dir')];
  const { keys, revision } = snapshotKeys(inMemory(calls.readWhole(snapshot)));
  const peers = flag('initial-cluster')
    .split(',')
    .map((one) => one.split('=')[1] ?? '');
  const ids = peers.map((url) => memberId([url], 'rehearsal'));
  const lines = [
    {
      meta: { member: memberId([flag('initial-advertise-peer-urls')], 'rehearsal'), cluster: clusterId(ids) },
    },
    { hard: { term: 1 } },
    { e: [1, 1, { id: 'restore', command: { op: 'restore', keys, revision } }] },
    { commit: 1 },
  ];
  const path = walPath(directory);
  calls.makeDirectories(path.slice(0, path.lastIndexOf('/')), 0o700);
  calls.makeDirectories(`${directory}/member/snap`, 0o700);
  const fd = calls.open(path, 'w', 0o600);
  for (const one of lines) calls.writeAll(fd, Buffer.from(`${JSON.stringify(one)}\n`));
};

const swapDirectory = (directory: string, aside: string): string => {
  let kept = aside;
  for (let n = 2; exists(kept); n += 1) kept = `${aside}.${n}`;
  if (exists(directory)) calls.rename(directory, kept);
  calls.rename(`${directory}.restoring`, directory);
  return kept;
};

/** What the script does; undefined for one that no restore runs. */
export const runScript = (script: string, ctlVersion: string): Finished | undefined => {
  if (/^ETCDCTL_API=3 \S+ version 2>&1$/.test(script)) return finished(0, `etcdctl version: ${ctlVersion}\n`);
  const test = /^\[ -d (.*) \]$/.exec(script)?.[1];
  if (test !== undefined) return finished(exists(wordsOf(test)?.[0] ?? '') ? 0 : 1);
  const directory = wordsOf(/^D=([^;\n]*)/m.exec(script)?.[1] ?? '')?.[0];
  if (directory === undefined) return undefined;
  const restore = /^ETCDCTL_API=3 (.* snapshot restore .*)$/m.exec(script)?.[1];
  if (restore !== undefined) {
    calls.remove(`${directory}.restoring`);
    buildDirectory(restore);
    return finished(0);
  }
  const aside = wordsOf(/; A=([^;\n]*);/.exec(script)?.[1] ?? '')?.[0];
  return aside === undefined ? undefined : finished(0, swapDirectory(directory, aside));
};
