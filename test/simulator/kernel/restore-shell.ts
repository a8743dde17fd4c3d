/**
 * The shell on the machine of a member, limited to the features that a restore uses: the ctl program, which builds a
 * data directory from a snapshot, and moves of directories. Each change of the disk is an effect, so that a crash can
 * leave a directory partly built or partly swapped.
 */
import { inMemory, snapshotHistory } from '../../../src/kv/client/snapshot-content.ts';
import { clusterId, memberId, walPath } from '../../../src/etcd-sim/disk/db-file.ts';
import { wordsOf } from '../../../src/core/shell.ts';
import type { Finished } from '../../../src/platform/host.ts';
import * as calls from './file-system.ts';
import { kernelNow } from './kernel.ts';

const finished = (code: number, stdout = ''): Finished => ({
  ...{ code, signal: null, stdout, stderr: code === 0 ? '' : 'the simulated shell failed', timedOut: false },
});
const exists = (path: string): boolean => kernelNow().current?.machine.disk.find(path) !== undefined;

/** Runs `CTL snapshot restore FILE --name … --initial-cluster …` and writes the result into this directory. */
const buildDirectory = (line: string, directory: string): void => {
  const words = wordsOf(line) ?? [];
  const flag = (name: string): string => words[words.indexOf(`--${name}`) + 1] ?? '';
  const snapshot = words[words.indexOf('restore') + 1] ?? '';
  const { records, ...state } = snapshotHistory(inMemory(calls.readWhole(snapshot)));
  const peers = flag('initial-cluster')
    .split(',')
    .map((one) => one.split('=')[1] ?? '');
  const ids = peers.map((url) => memberId([url], 'rehearsal'));
  const lines = [
    {
      meta: { member: memberId([flag('initial-advertise-peer-urls')], 'rehearsal'), cluster: clusterId(ids) },
    },
    { hard: { term: 1 } },
    { e: [1, 1, { id: 'restore', command: { op: 'restore', keys: records, ...state } }] },
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

/**
 * Runs the effects of a script. Returns undefined for a script that a restore does not send. The simulation has no
 * directories that are links or mount points.
 */
export const runScript = (script: string, ctlVersion: string): Finished | undefined => {
  if (/ETCDCTL_API=3 \S+ version 2>&1$/.test(script)) return finished(0, `etcdutl version: ${ctlVersion}\n`);
  const directory = wordsOf(/^N=([^;\n]*); R=/m.exec(script)?.[1] ?? '')?.[0];
  if (directory === undefined) return undefined;
  const built = `${directory}.restoring`;
  if (/\[ -d "\$B\.restoring" \]$/.test(script)) return finished(exists(built) ? 0 : 1);
  // The check of the space of all builds. The simulated disk reports none.
  if (/^rm -rf "\$B\.restoring" \$\{W/m.test(script)) {
    if (exists(built)) calls.remove(built);
    return finished(0);
  }
  const restore = /^ETCDCTL_API=3 (.* snapshot restore .*) --data-dir "\$B\.restoring" /m.exec(script)?.[1];
  if (restore !== undefined) {
    calls.remove(built);
    buildDirectory(restore, built);
    return finished(0);
  }
  const ending = wordsOf(/^K=\$\(unused "\$B"(.*)\)$/m.exec(script)?.[1] ?? '')?.[0];
  return ending === undefined ? undefined : finished(0, swapDirectory(directory, `${directory}${ending}`));
};
